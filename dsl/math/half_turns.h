// sin(pi x) and cos(pi x) for x from -1/2 to 1/2, in the terms that angles.h explains, of f64: by
// Taylor's series, whose next term is below 3e-16. Near an integer the fractional part is exact,
// and so are these.
#pragma once

namespace tilewright::dsl::formulas {

template <typename T>
T sine_of_half_turns(const T& x) {
  return x * polynomial(x * x, {3.1415926535897931, -5.1677127800499703, 2.5501640398773455,
                                -0.59926452932079211, 0.082145886611128233, -0.0073704309457143504,
                                0.00046630280576761255, -2.1915353447830217e-05,
                                7.9520540014755126e-07, -2.2948428997269873e-08});
}

template <typename T>
T cosine_of_half_turns(const T& x) {
  return polynomial(
      x * x, {1, -4.934802200544679, 4.0587121264167685, -1.3352627688545895, 0.23533063035889321,
              -0.025806891390014061, 0.0019295743094039231, -0.0001046381049248457,
              4.3030695870329473e-06, -1.3878952462213771e-07, 3.6047307974625011e-09});
}

}  // namespace tilewright::dsl::formulas

// Runs the package of lesson 17 from Rust: x is 0, 1/8, 2/8, ... in 4 rows of 8.
//
//   rustc run.rs -ltilewright_c && ./run FILE
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::null;

// include/tilewright/c_api.h has the meaning of each.
#[repr(C)]
struct Tensor {
    dtype: *const c_char,
    rank: i32,
    shape: *const i64,
    data: *mut c_void,
}
#[repr(C)]
struct TensorInfo {
    name: *const c_char,
    dtype: *const c_char,
    rank: i32,
    shape: *const i64,
    bytes: i64,
    is_written: i32,
}
#[link(name = "tilewright_c")]
extern "C" {
    fn tilewright_load(file: *const c_char) -> *mut c_void;
    fn tilewright_free(package: *mut c_void);
    fn tilewright_input(p: *const c_void, signature: usize, n: usize, info: *mut TensorInfo) -> c_int;
    fn tilewright_output(p: *const c_void, signature: usize, n: usize, info: *mut TensorInfo) -> c_int;
    fn tilewright_run(p: *const c_void, inputs: *const Tensor, input_count: usize,
                      outputs: *const Tensor, output_count: usize) -> c_int;
    fn tilewright_last_error() -> *const c_char;
}

fn text_of(text: *const c_char) -> String {
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

type Describe = unsafe extern "C" fn(*const c_void, usize, usize, *mut TensorInfo) -> c_int;

struct Package(*mut c_void);

impl Package {
    fn load(file: &str) -> Result<Package, String> {
        let file = CString::new(file).map_err(|error| error.to_string())?;
        let package = unsafe { tilewright_load(file.as_ptr()) };
        if package.is_null() { Err(Self::error()) } else { Ok(Package(package)) }
    }
    fn error() -> String {
        text_of(unsafe { tilewright_last_error() })
    }
    // A tensor of the second function, which takes 4 rows.
    fn describe(&self, describe: Describe) -> Result<TensorInfo, String> {
        let mut info = TensorInfo { name: null(), dtype: null(), rank: 0, shape: null(), bytes: 0, is_written: 0 };
        if unsafe { describe(self.0, 1, 0, &mut info) } == 0 { Ok(info) } else { Err(Self::error()) }
    }
    fn run(&self, x: &mut [f32], y: &mut [f32]) -> Result<(TensorInfo, TensorInfo), String> {
        let taken = self.describe(tilewright_input)?;
        let given = self.describe(tilewright_output)?;
        if taken.bytes != 4 * x.len() as i64 || given.bytes != 4 * y.len() as i64 {
            return Err("the package is of other sizes".to_string());
        }
        let tensor = |info: &TensorInfo, data: &mut [f32]| Tensor {
            dtype: info.dtype, rank: info.rank, shape: info.shape, data: data.as_mut_ptr().cast(),
        };
        let (input, output) = (tensor(&taken, x), tensor(&given, y));
        let status = unsafe { tilewright_run(self.0, &input, 1, &output, 1) };
        if status == 0 { Ok((taken, given)) } else { Err(Self::error()) }
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        unsafe { tilewright_free(self.0) }
    }
}

fn main() -> Result<(), String> {
    let file = std::env::args().nth(1).ok_or("usage: run FILE")?;
    let package = Package::load(&file)?;
    let mut x: Vec<f32> = (0..32).map(|i| i as f32 / 8.0).collect();
    let mut y = vec![0f32; 12];
    let (taken, given) = package.run(&mut x, &mut y)?;
    println!("takes {} of {} bytes, gives {} of {} bytes",
             text_of(taken.name), taken.bytes, text_of(given.name), given.bytes);
    for row in y.chunks(3) {
        println!("{:.4} {:.4} {:.4}", row[0], row[1], row[2]);
    }
    Ok(())
}

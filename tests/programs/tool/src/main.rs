//! A test program that executes the steps in its arguments in order: `tool STEP [ARGUMENT]... [-- STEP
//! [ARGUMENT]...]...`. A step that fails prints its error, and the next step follows; the exit status is the number of
//! failed steps.

use std::ffi::{CString, c_char, c_int};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::time::{Duration, SystemTime};

unsafe extern "C" {
    fn symlink(target: *const c_char, path: *const c_char) -> c_int;
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut failed = 0;
    for step in arguments.split(|argument| argument == "--") {
        let [name, rest @ ..] = step else { continue };
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        if let Err(cause) = run(name, &rest) {
            eprintln!("{}: {:?}", step.join(" "), cause.kind());
            failed += 1;
        }
    }
    std::process::exit(failed);
}

fn run(step: &str, rest: &[&str]) -> io::Result<()> {
    match (step, rest) {
        ("name", []) => println!("{}", std::env::args().next().unwrap_or_default()),
        ("echo", words) => println!("{}", words.join("|")),
        ("env", []) => std::env::vars().for_each(|(name, value)| println!("{name}={value}")),
        ("stdin", []) => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            print!("{}", text.to_uppercase());
        }
        ("cat", [path]) => io::copy(&mut File::open(path)?, &mut io::stdout()).map(drop)?,
        ("write", [path, text]) => fs::write(path, text)?,
        ("new", [path]) => File::create_new(path)?.write_all(b"new\n")?,
        ("append", [path, text]) => OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())?,
        ("cut", [path, length]) => OpenOptions::new().write(true).open(path)?.set_len(number(length)?)?,
        ("fill", [path, length]) => io::copy(&mut io::repeat(b'x').take(number(length)?), &mut File::create(path)?).map(drop)?,
        ("touch", [path]) => File::open(path)?.set_modified(SystemTime::UNIX_EPOCH)?,
        ("open", [count, path]) => {
            let open: io::Result<Vec<File>> = (0..number(count)?).map(|_| File::open(path)).collect();
            println!("{}", open?.len());
        }
        ("ls", [path]) => {
            let names: io::Result<Vec<_>> = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect();
            let mut names: Vec<_> = names?.into_iter().map(|name| name.to_string_lossy().into_owned()).collect();
            names.sort();
            println!("{}", names.join(" "));
        }
        ("stat", [path]) => println!("{}", fs::symlink_metadata(path)?.len()),
        ("readlink", [path]) => println!("{}", fs::read_link(path)?.display()),
        ("mkdir", [path]) => fs::create_dir_all(path)?,
        ("rmdir", [path]) => fs::remove_dir(path)?,
        ("rm", [path]) => fs::remove_file(path)?,
        ("mv", [from, to]) => fs::rename(from, to)?,
        ("ln", [from, to]) => fs::hard_link(from, to)?,
        ("symlink", [target, path]) => {
            let (target, path) = (CString::new(*target)?, CString::new(*path)?);
            if unsafe { symlink(target.as_ptr(), path.as_ptr()) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        ("connect", [address]) => std::net::TcpStream::connect(address).map(drop)?,
        ("sleep", [ms]) => std::thread::sleep(Duration::from_millis(number(ms)?)),
        ("exit", [status]) => std::process::exit(number(status)? as i32),
        ("panic", []) => panic!("as it was told"),
        ("spin", []) => loop {
            std::hint::spin_loop();
        },
        ("yes", []) => loop {
            println!("{}", "y".repeat(1_000));
        },
        ("eat", []) => {
            let mut eaten = Vec::new();
            loop {
                eaten.push(vec![1_u8; 1 << 20]);
            }
        }
        _ => return Err(io::ErrorKind::Unsupported.into()),
    }
    Ok(())
}

fn number(text: &str) -> io::Result<u64> {
    text.parse().map_err(|_| io::ErrorKind::InvalidInput.into())
}

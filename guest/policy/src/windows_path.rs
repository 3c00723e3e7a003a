//! Absolute paths of Windows in the form of other systems, which the component compares with the names of roots.

/// Returns the path with `/` for `\`. A drive's path begins with `/C:/` and a share's with `//server/share/`, also if
/// the path was written with `\\?\`. A path that is relative to the current directory of a drive, `C:a`, is not
/// absolute and remains as it is: no file can have that name.
pub fn unified(path: &str) -> String {
    let path = path.replace('\\', "/");
    let plain = match path.strip_prefix("//?/") {
        Some(plain) => match plain.strip_prefix("UNC/") {
            Some(share) => return format!("//{share}"),
            None => plain,
        },
        None => &path,
    };
    match plain.as_bytes() {
        [letter, b':', b'/', ..] if letter.is_ascii_alphabetic() => format!("/{plain}"),
        _ if plain.len() == path.len() => path,
        // What else begins with `\\?\` names an object of the kernel, which is in no root.
        _ => format!("//?/{plain}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_absolute_path_becomes_one() {
        for (path, expected) in [
            (r"C:\ws\a.txt", "/C:/ws/a.txt"),
            ("c:/ws/a.txt", "/c:/ws/a.txt"),
            (r"\\?\C:\ws\a", "/C:/ws/a"),
            ("//?/C:/ws/a", "/C:/ws/a"),
            (r"\\server\share\a", "//server/share/a"),
            (r"\\?\UNC\server\share\a", "//server/share/a"),
            (r"C:\", "/C:/"),
        ] {
            assert_eq!(unified(path), expected);
        }
    }

    #[test]
    fn other_paths_do_not_become_absolute() {
        for (path, expected) in [
            (r"src\main.rs", "src/main.rs"),
            (r"..\a", "../a"),
            ("a/b", "a/b"),
            ("C:", "C:"),
            ("C:a", "C:a"),
            (r"1:\a", "1:/a"),
            ("é:/a", "é:/a"),
            (r"\Windows", "/Windows"),
            (r"\\.\PhysicalDrive0", "//./PhysicalDrive0"),
            (r"\\?\GLOBALROOT\Device\a", "//?/GLOBALROOT/Device/a"),
            (r"\\?\C:a", "//?/C:a"),
            ("", ""),
        ] {
            assert_eq!(unified(path), expected);
        }
    }
}

//! Media types, by content and name.
//!
//! `infer` and `mime_guess` know hundreds of types that no result needs, and would enlarge the component.

/// Signatures at the start of contents, with their types.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x7fELF", "application/x-elf"),
    (b"\0asm", "application/wasm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"wOF2", "font/woff2"),
];

/// Types of texts, and of binary formats without a signature, by file name extension.
const EXTENSIONS: &[(&str, &str)] = &[
    ("bmp", "image/bmp"),
    ("c", "text/x-c"),
    ("cc", "text/x-c++"),
    ("cpp", "text/x-c++"),
    ("cs", "text/x-csharp"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("go", "text/x-go"),
    ("h", "text/x-c"),
    ("hpp", "text/x-c++"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/x-icon"),
    ("java", "text/x-java"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsx", "text/javascript"),
    ("kt", "text/x-kotlin"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("php", "text/x-php"),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("sh", "text/x-shellscript"),
    ("sql", "text/x-sql"),
    ("svg", "image/svg+xml"),
    ("swift", "text/x-swift"),
    ("tar", "application/x-tar"),
    ("toml", "application/toml"),
    ("ts", "text/typescript"),
    ("tsx", "text/typescript"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// Returns the media type of the file `name` that starts with `head`; `text` is whether the file is text.
pub fn of(name: &str, head: &[u8], text: bool) -> &'static str {
    if let Some((_, mime)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        return mime;
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return "image/webp";
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WAVE") {
        return "audio/wav";
    }
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let known = EXTENSIONS.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known)).map(|(_, mime)| *mime);
    match known {
        // The name does not decide whether the content is text.
        Some(mime) if is_text(mime) == text => mime,
        _ if text => "text/plain",
        _ => "application/octet-stream",
    }
}

fn is_text(mime: &str) -> bool {
    !matches!(mime, "image/bmp" | "image/x-icon" | "audio/mpeg" | "video/mp4" | "application/x-tar")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_before_name() {
        assert_eq!(of("a.txt", b"\x89PNG\r\n\x1a\n..", false), "image/png");
        assert_eq!(of("a", b"RIFF\0\0\0\0WEBPVP8 ", false), "image/webp");
        assert_eq!(of("main.RS", b"fn main() {}", true), "text/x-rust");
        assert_eq!(of("main.rs", b"\0\x01", false), "application/octet-stream");
        assert_eq!(of("a.tar", b"text", true), "text/plain");
        assert_eq!(of("Makefile", b"", true), "text/plain");
    }
}

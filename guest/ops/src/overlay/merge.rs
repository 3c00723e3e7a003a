//! Three-way merge of texts.

/// Merges the changes from `old` to `ours` and to `theirs`; `None` if both changed the same lines differently, or one
/// of the versions is not text.
pub fn merge(old: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let [old, ours, theirs] = [old, ours, theirs].map(|bytes| std::str::from_utf8(bytes).ok());
    let (old, ours, theirs) = (old?, ours?, theirs?);
    if [old, ours, theirs].iter().any(|text| text.contains('\0')) {
        return None;
    }
    diffy::merge(old, ours, theirs).ok().map(String::into_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(old: &str, ours: &str, theirs: &str) -> Option<String> {
        merge(old.as_bytes(), ours.as_bytes(), theirs.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn changes_of_different_lines_are_both_made() {
        let old = "1\n2\n3\n4\n5\n";
        assert_eq!(merged(old, "one\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n").unwrap(), "one\n2\n3\n4\nfive\n");
        assert_eq!(merged(old, "1\n2\n3\n4\n5\n6", "0\n1\n2\n3\n4\n5\n").unwrap(), "0\n1\n2\n3\n4\n5\n6");
        assert_eq!(merged("a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n").unwrap(), "A\r\nb\r\nC\r\n");
        assert_eq!(merged(old, "1\nx\n3\n4\n5\n", "1\nx\n3\n4\n5\n").unwrap(), "1\nx\n3\n4\n5\n", "the same in both");
    }

    #[test]
    fn changes_of_the_same_lines_are_not() {
        let old = "1\n2\n3\n";
        assert_eq!(merged(old, "1\nx\n3\n", "1\ny\n3\n"), None);
        assert_eq!(merged(old, "1\n3\n", "1\ny\n3\n"), None);
        assert_eq!(merged("", "x\n", "y\n"), None);
        assert_eq!(merge(b"a\0", b"b\0", b"a\0c"), None);
        assert_eq!(merge(b"a", b"\xff", b"a"), None);
    }
}

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

#[test]
fn a_new_file_gets_no_identity_of_a_deleted_private_file_or_link() {
    let temporary = tempfile::tempdir().unwrap();
    let top = temporary.path().canonicalize().unwrap();
    let private = ["audit.jsonl", "policy.yaml"].map(|name| top.join(name));
    private.iter().for_each(|path| fs::write(path, "").unwrap());
    symlink("policy.yaml", top.join("link")).unwrap();
    let own = [Walk::new(&private[0]).unwrap(), Walk::new(&top.join("link")).unwrap()];
    let guarded = Guarded::new(&[], &own);
    let identity = |name: &str| own[0].directory.identity_of(name).unwrap();
    assert!(guarded.is_closed(identity("audit.jsonl")) && guarded.is_closed(identity("policy.yaml")));
    assert!(guarded.is_fixed(identity("link")));
    for name in ["audit.jsonl", "policy.yaml", "link"] {
        fs::remove_file(top.join(name)).unwrap();
    }
    for number in 0..100 {
        let name = format!("new-{number}");
        fs::write(top.join(&name), "").unwrap();
        assert!(!guarded.is_fixed(identity(&name)), "{name}");
    }
}

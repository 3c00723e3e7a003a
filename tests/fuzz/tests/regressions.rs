//! Runs every target with every input that once found a defect or that covers a separate branch.

use std::fs;
use std::path::Path;

use paddock_fuzz_targets::{TARGETS, run};

#[test]
fn every_stored_input_passes() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut inputs = 0;
    for (target, _) in TARGETS {
        let entries =
            fs::read_dir(corpora.join(target)).unwrap_or_else(|cause| panic!("the corpus of {target}: {cause}"));
        for entry in entries {
            let path = entry.unwrap().path();
            println!("{target} {}", path.display());
            run(target, &fs::read(path).unwrap());
            inputs += 1;
        }
    }
    println!("{inputs} inputs of {} targets", TARGETS.len());
    assert!(inputs >= TARGETS.len(), "{inputs}");
}

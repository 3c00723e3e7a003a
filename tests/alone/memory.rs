//! Memory that calls reuse.

use std::fs::read_to_string;

use paddock::Workspace;
use paddock::types::ReadArgs;
use tempfile::TempDir;

const READS: u64 = 100;
const ROUNDS: u64 = 5;

/// Memory that a call maps, unmaps or returns to the system is expensive: the system interrupts the other processors for it. A
/// read reuses that of the read before. When it did not, it caused four page faults.
#[test]
fn a_read_reuses_all_memory_of_the_read_before() {
    let _alone = super::alone();
    if !reports_written_pages() {
        println!("skipped: this kernel does not report written pages, so that the runtime returns them to the system");
        return;
    }
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("a.txt"), "line\n".repeat(800)).unwrap();
    let workspace = Workspace::builder().root(root.path()).no_state_dir().build().unwrap();
    let read = || drop(workspace.read(&ReadArgs::new("a.txt")).unwrap());
    let round = || {
        let before = page_faults();
        (0..READS).for_each(|_| read());
        page_faults() - before
    };
    // The tests before this one can have left memory in use, so that the first rounds have more.
    let faults = (0..ROUNDS).map(|_| round()).min().unwrap();
    assert!(faults < READS * 2, "{faults} page faults in {READS} reads");
}

/// Returns the number of page faults of this process that needed no disk.
fn page_faults() -> u64 {
    let stat = read_to_string("/proc/self/stat").unwrap();
    // The fields follow the name of the program, which is in parentheses.
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(7).unwrap().parse().unwrap()
}

/// Returns whether the kernel is Linux 6.7 or later, which has `PAGEMAP_SCAN`.
fn reports_written_pages() -> bool {
    let release = read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    (numbers.next().unwrap(), numbers.next().unwrap()) >= (6, 7)
}

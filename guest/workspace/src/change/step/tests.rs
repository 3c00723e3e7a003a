use paddock_types::digest::sha256;
use paddock_types::entry::Time;
use paddock_vfs::Open;
use paddock_vfs::bytes::read_up_to;
use paddock_vfs::memory::MemoryFs;

use crate::change::step::*;
use Progress::{Applied, Lost, Ready};

/// Names and contents of the files in the directory of a step.
type Files<'f> = &'f [(&'f str, &'f str)];

/// A directory in which steps are applied.
struct Bench {
    fs: MemoryFs,
    top: Dir,
}

impl Bench {
    fn new(files: Files<'_>) -> Self {
        let fs = MemoryFs::new(&["/workspace"], || Time { seconds: 7, nanoseconds: 0 }, 1);
        let top = fs.preopens().remove(0).dir;
        for (name, text) in files {
            let location = OpenLocation { dir: top.clone(), name: (*name).to_owned() };
            location.create(&fs, &text.as_bytes().to_vec().into()).unwrap();
        }
        Self { fs, top }
    }

    fn work<'s>(&self, step: &'s Step) -> Work<'s> {
        step.at(self.top.clone(), step.to.as_ref().map(|_| self.top.clone()))
    }

    fn files(&self) -> Vec<(String, String)> {
        let entries = self.fs.list(&self.top).unwrap().entries;
        let text = |name: &str| {
            let file = self.fs.open_file(&self.top, name, Open::Read).unwrap();
            String::from_utf8(read_up_to(&self.fs, &file, 99).unwrap()).unwrap()
        };
        entries.iter().map(|entry| (entry.name.clone(), text(&entry.name))).collect()
    }

    #[track_caller]
    fn holds(&self, files: Files<'_>) {
        let files: Vec<_> = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        assert_eq!(self.files(), files);
    }
}

fn stored_location(name: &str) -> StoredLocation {
    StoredLocation { root: String::new(), above: Vec::new(), name: name.to_owned() }
}

/// Returns a step on `file` with its old and new content; `.new` is its temporary file, `.old` its backup.
fn step(old: Option<&str>, new: Option<&str>) -> Step {
    let digest = |text: Option<&str>| text.map(|text| sha256(text.as_bytes()));
    let temporary = new.filter(|_| old != new).map(|_| ".new".to_owned());
    let (target, backup) = (stored_location("file"), ".old".to_owned());
    Step { target, to: None, temporary, backup, old: digest(old), new: digest(new), in_place: false }
}

fn in_place(step: Step) -> Step {
    Step { in_place: true, ..step }
}

fn moved(step: Step) -> Step {
    Step { to: Some(stored_location("to")), ..step }
}

#[test]
fn the_progress_of_a_step_is_determined_from_the_files() {
    let modify = || step(Some("old"), Some("new"));
    let create = || step(None, Some("new"));
    let delete = || step(Some("old"), None);
    let only_move = || moved(step(Some("old"), Some("old")));
    let cases: &[(&str, Step, Files<'_>, Progress)] = &[
        ("prepared", modify(), &[("file", "old"), (".new", "new")], Ready),
        ("replaced", modify(), &[("file", "new"), (".old", "old")], Applied),
        ("half prepared", modify(), &[("file", "old"), (".new", "ne")], Lost),
        ("not prepared", modify(), &[("file", "old")], Lost),
        ("changed by someone", modify(), &[("file", "theirs"), (".new", "new")], Lost),
        ("removed by someone", modify(), &[(".new", "new")], Lost),
        ("prepared to rewrite", in_place(modify()), &[("file", "old"), (".new", "new")], Ready),
        ("half rewritten", in_place(modify()), &[("file", "ned"), (".new", "new")], Ready),
        ("rewritten", in_place(modify()), &[("file", "new"), (".new", "new")], Applied),
        ("nothing to rewrite it from", in_place(modify()), &[("file", "ned"), (".new", "ne")], Lost),
        ("nothing to rewrite", in_place(modify()), &[(".new", "new")], Lost),
        ("a new file", create(), &[(".new", "new")], Ready),
        ("a new file linked", create(), &[("file", "new"), (".new", "new")], Applied),
        ("a new file where someone's is", create(), &[("file", "theirs"), (".new", "new")], Lost),
        ("to be deleted", delete(), &[("file", "old")], Ready),
        ("deleted", delete(), &[(".old", "old")], Applied),
        ("someone's is not deleted", delete(), &[("file", "theirs")], Lost),
        ("to be moved", only_move(), &[("file", "old")], Ready),
        ("linked to its new name", only_move(), &[("file", "old"), ("to", "old")], Ready),
        ("moved", only_move(), &[("to", "old")], Applied),
        ("moved, and someone's in its old place", only_move(), &[("file", "theirs"), ("to", "old")], Lost),
        ("neither here nor there", only_move(), &[], Lost),
        ("someone's there", only_move(), &[("to", "theirs")], Lost),
        ("to be changed and moved", moved(modify()), &[("file", "old"), (".new", "new")], Ready),
        ("changed, not moved", moved(modify()), &[("file", "new"), (".old", "old")], Ready),
        ("changed and linked", moved(modify()), &[("file", "new"), ("to", "new")], Ready),
        ("changed and moved", moved(modify()), &[("to", "new"), (".old", "old")], Applied),
        ("changed by someone, not moved", moved(modify()), &[("file", "theirs"), (".new", "new")], Lost),
        ("not prepared to be moved", moved(modify()), &[("file", "old")], Lost),
    ];
    for (name, step, files, progress) in cases {
        let bench = Bench::new(files);
        assert_eq!(bench.work(step).progress(&bench.fs), Ok(*progress), "{name}");
        bench.holds(&sorted(files));
    }
}

fn sorted<'f>(files: Files<'f>) -> Vec<(&'f str, &'f str)> {
    let mut files = files.to_vec();
    files.sort_unstable();
    files
}

#[test]
fn a_step_continues_from_every_stop() {
    let modify = || step(Some("old"), Some("new"));
    let only_move = || moved(step(Some("old"), Some("old")));
    let cases: &[(&str, Step, Files<'_>, Files<'_>)] = &[
        ("replaces", modify(), &[("file", "old"), (".new", "new")], &[(".old", "old"), ("file", "new")]),
        (
            "the backup was there",
            modify(),
            &[("file", "old"), (".new", "new"), (".old", "old")],
            &[(".old", "old"), ("file", "new")],
        ),
        ("rewrites", in_place(modify()), &[("file", "old"), (".new", "new")], &[(".new", "new"), ("file", "new")]),
        ("creates", step(None, Some("new")), &[(".new", "new")], &[(".new", "new"), ("file", "new")]),
        ("deletes", step(Some("old"), None), &[("file", "old")], &[(".old", "old")]),
        ("moves", only_move(), &[("file", "old")], &[("to", "old")]),
        ("had moved but for the old name", only_move(), &[("file", "old"), ("to", "old")], &[("to", "old")]),
        (
            "moves what it changes",
            moved(modify()),
            &[("file", "old"), (".new", "new")],
            &[(".old", "old"), ("to", "new")],
        ),
        (
            "had changed what it moves",
            moved(modify()),
            &[("file", "new"), (".old", "old")],
            &[(".old", "old"), ("to", "new")],
        ),
    ];
    for (name, step, before, after) in cases {
        let bench = Bench::new(before);
        assert_eq!(bench.work(step).apply(&bench.fs), Ok(()), "{name}");
        bench.holds(after);
    }
}

#[test]
fn a_step_replaces_nothing_of_someone_else_s() {
    let cases: &[(&str, Step, Files<'_>, Fault)] = &[
        ("creates", step(None, Some("new")), &[(".new", "new"), ("file", "theirs")], Fault::Exists),
        ("moves", moved(step(Some("old"), Some("old"))), &[("file", "old"), ("to", "theirs")], Fault::Exists),
        (
            "its temporary file is gone",
            step(Some("old"), Some("new")),
            &[(".old", "old"), ("file", "old")],
            Fault::NotFound,
        ),
    ];
    for (name, step, files, fault) in cases {
        let bench = Bench::new(files);
        assert_eq!(bench.work(step).apply(&bench.fs).as_ref(), Err(fault), "{name}");
        bench.holds(files);
    }
}

#[test]
fn a_step_is_taken_back_from_wherever_it_stopped_and_nothing_of_someone_else_s() {
    let modify = || step(Some("old"), Some("new"));
    let only_move = || moved(step(Some("old"), Some("old")));
    let cases: &[(&str, Step, Files<'_>, Files<'_>)] = &[
        ("not begun", modify(), &[("file", "old"), (".old", "ol")], &[(".old", "ol"), ("file", "old")]),
        ("replaced", modify(), &[("file", "new"), (".old", "old")], &[("file", "old")]),
        ("gone, no backup", modify(), &[], &[]),
        ("half rewritten", in_place(modify()), &[("file", "ned, and more")], &[("file", "old")]),
        ("deleted", step(Some("old"), None), &[(".old", "old")], &[("file", "old")]),
        ("moved", only_move(), &[("to", "old")], &[("file", "old")]),
        ("linked to its new name", only_move(), &[("file", "old"), ("to", "old")], &[("file", "old")]),
        (
            "someone's at its new name",
            only_move(),
            &[("file", "old"), ("to", "theirs")],
            &[("file", "old"), ("to", "theirs")],
        ),
        ("changed and moved", moved(modify()), &[("to", "new"), (".old", "old")], &[("file", "old")]),
        ("created without a link", step(None, Some("new")), &[("file", "new")], &[]),
        ("not created", step(None, Some("new")), &[(".new", "new")], &[(".new", "new")]),
        (
            "someone's where it was to be created",
            step(None, Some("new")),
            &[(".new", "new"), ("file", "theirs")],
            &[(".new", "new"), ("file", "theirs")],
        ),
        (
            "someone's, and the temporary file gone",
            step(None, Some("new")),
            &[("file", "theirs")],
            &[("file", "theirs")],
        ),
    ];
    for (name, step, before, after) in cases {
        let bench = Bench::new(before);
        let old = step.old.as_ref().map(|_| FileContent::from(b"old".to_vec()));
        assert_eq!(bench.work(step).undo(&bench.fs, old.as_ref()), Ok(()), "{name}");
        bench.holds(after);
    }
    let bench = Bench::new(&[(".new", "new")]);
    bench.fs.link(&bench.top, ".new", &bench.top, "file").unwrap();
    bench.work(&step(None, Some("new"))).undo(&bench.fs, None).unwrap();
    bench.holds(&[(".new", "new")]);
}

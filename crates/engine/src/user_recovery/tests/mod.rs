//! Images, copies and commands by themselves.

mod server;

use super::command::{Came, Limits};
use super::image::Image;
use super::placeholders::{Given, filled_in};
use super::verdict::Outcome;
use super::*;
use crate::trace::Trace;
use crate::trace::recorded::tests::build::unsigned;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;
use std::time::Instant;

static NEVER: AtomicBool = AtomicBool::new(false);

/// A trace of files of these names and sizes, one after the other in memory; each holds "before" at 64 at first.
fn trace(files: &[(&str, u64)]) -> Trace {
    let mut stream = b"CPTRACE\x01\x01\0\0\0".to_vec();
    let mut records = 1;
    for (number, (name, size)) in files.iter().enumerate() {
        let base = 0x1000_0000 * (number as u64 + 1);
        let number = number as u64;
        stream.extend([&[2][..], &unsigned(number), &unsigned(name.len() as u64), name.as_bytes()].concat());
        stream.extend([&[3][..], &unsigned(base), &unsigned(*size), &unsigned(number), &unsigned(0)].concat());
        stream.extend([&[6][..], &unsigned(number), &unsigned(64), &unsigned(6), b"before"].concat());
        records += 3;
    }
    stream.extend([&[0x7f][..], &unsigned(records), &unsigned(0), &unsigned(0)].concat());
    Trace::from_bytes("test", stream, false).unwrap()
}

fn settings(command: &str) -> RecoverySettings {
    RecoverySettings {
        command: command.to_owned(),
        prints: None,
        timeout_seconds: 20,
        folder: None,
        keep: None,
        jobs: 2,
        watcher: None,
        recorder: None,
    }
}

fn recovery(trace: &Trace, settings: RecoverySettings) -> Result<OwnRecovery, ConfigError> {
    OwnRecovery::new(settings, "trace test", trace, false)
}

fn judge(recovery: &mut OwnRecovery, digest: u128, lines: &[(Line, LineBytes)]) -> Result<Arc<Verdict>, Failure> {
    recovery.begin(digest, Occasion::default(), lines.iter().copied())?;
    Ok(recovery.verdict(digest, true, &NEVER)?.expect("it is waited for"))
}

fn run(text: &str, timeout: Duration) -> Ran {
    match command::run(text, Limits { timeout, cancel: &NEVER }, None).unwrap() {
        Came::Ran(ran) => ran,
        Came::Serves(_) | Came::Cancelled => panic!("nobody interrupts"),
    }
}

fn at(event: u64) -> Occasion {
    Occasion { event, ..Occasion::default() }
}

fn line_with(text: &[u8]) -> LineBytes {
    let mut line = [0; 64];
    line[..text.len()].copy_from_slice(text);
    line
}

#[test]
fn files_hold_what_they_held_with_the_lines_that_changed_and_get_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(&[("/dev/shm/pool", 0x10_0000), ("/elsewhere/pool", 100), ("memory:0x1234", 64)]);
    let mut image = Image::create(&folder.path().join("image"), "t", trace.files(), &trace.base()).unwrap();
    assert_eq!(image.pool(), "pool");
    let second = trace.files()[1].base / 64;
    image.put(Line(0), &line_with(b"first")).unwrap();
    // Its file ends in the middle of this line.
    image.put(Line(second + 1), &[7; 64]).unwrap();
    image.put(Line(trace.files()[2].base / 64), &[9; 64]).unwrap();
    image.copy_into(&folder.path().join("copy")).unwrap();
    let (one, two) = (fs::read(folder.path().join("copy/pool")).unwrap(), folder.path().join("copy/pool-2"));
    assert_eq!((one.len(), &one[..5], &one[64..70]), (0x10_0000, &b"first"[..], &b"before"[..]));
    assert!(one[70..].iter().all(|&byte| byte == 0));
    assert_eq!(fs::read(&two).unwrap(), [&[0; 64][..], &[7; 36]].concat());
    let blocks = fs::metadata(folder.path().join("copy/pool")).unwrap().blocks() * 512;
    assert!(blocks < 0x8_0000, "{blocks} bytes of a mostly empty file are there");
    image.rewind().unwrap();
    image.copy_into(&folder.path().join("again")).unwrap();
    assert_eq!(&fs::read(folder.path().join("again/pool")).unwrap()[..70], [&[0; 64][..], b"before"].concat());
    let kept = image.keep(&folder.path().join("again"), folder.path(), "crash-12").unwrap();
    assert_eq!(kept, [folder.path().join("crash-12.pool"), folder.path().join("crash-12.pool-2")]);
    assert!(kept.iter().all(|path| path.is_file()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5, "nothing temporary is left");
    fs::remove_file(&kept[0]).unwrap();
    std::os::unix::fs::symlink(&two, &kept[0]).unwrap();
    image.keep(&folder.path().join("again"), folder.path(), "crash-12").unwrap();
    assert!(kept[0].symlink_metadata().unwrap().is_file(), "a link is replaced");
    assert_eq!(fs::metadata(&two).unwrap().len(), 100, "a link was followed");
    fs::remove_file(folder.path().join("again/pool-2")).unwrap();
    image.keep(&folder.path().join("again"), folder.path(), "crash-13").unwrap_err();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6, "only the file that was whole is new");
}

/// A file is as long as the line of its size says; where that says so, or does not decrypt, there is none.
#[test]
fn files_are_as_long_as_their_sizes_say() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace(&[("/pool", 4096), ("size:/pool", 64), ("/other", 64)]);
    let size_at = Line(trace.files()[1].base / 64);
    let mut image = Image::create(&folder.path().join("image"), "t", trace.files(), &trace.base()).unwrap();
    assert_eq!((image.names(), image.sizes().collect::<Vec<_>>()), (vec!["pool", "other"], vec![size_at]));
    assert!(image.has(size_at) && !image.has(Line(size_at.0 + 1)));
    image.put(Line(1), &[7; 64]).unwrap();
    let mut length_after = |size: Option<u64>, copy: &str| {
        match size {
            Some(size) => image.put(size_at, &line_with(&size.to_le_bytes())).unwrap(),
            None => image.rewind().unwrap(),
        }
        let to = folder.path().join(copy);
        image.copy_into(&to).unwrap();
        assert_eq!(fs::metadata(to.join("other")).unwrap().len(), 70);
        fs::read(to.join("pool")).ok().map(|bytes| (bytes.len(), bytes.iter().filter(|&&byte| byte == 7).count()))
    };
    for (copy, size, expected) in [
        ("nothing", 0, Some((0, 0))),
        ("cut", 100, Some((100, 36))),
        ("whole", 4096, Some((4096, 64))),
        ("longer", 10_000, Some((10_000, 64))),
        ("none", crate::trace::NO_SIZE, None),
        ("noise", 1 << 41, None),
    ] {
        assert_eq!(length_after(Some(size), copy), expected, "{copy}");
    }
    // As before the run, when it was empty.
    assert_eq!(length_after(None, "rewound"), Some((0, 0)));
    let kept = image.keep(&folder.path().join("none"), folder.path(), "crash-3").unwrap();
    assert_eq!(kept, [folder.path().join("crash-3.other")]);
}

/// The last line counts, besides the exit code.
#[test]
fn recovery_may_have_to_print_something() {
    let with = |prints: &str| RecoverySettings { prints: Some(prints.to_owned()), ..settings("{pool}") };
    let accepts = |outcome, said: &str| with("all well").accepts(&Ran { outcome, said: said.to_owned() });
    assert!(accepts(Outcome::Exit(0), "all well, 3 records"));
    assert!(!accepts(Outcome::Exit(0), "") && !accepts(Outcome::Exit(1), "all well"));
    let refused = recovery(&trace(&[("/pool", 64)]), with("")).map(drop).unwrap_err();
    assert_eq!(refused.0, "recover_prints: the text is empty, so that any line contains it");
}

#[test]
fn sparse_copy_of_data_between_holes_is_equal() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let file = fs::File::options().read(true).write(true).create_new(true).open(&from).unwrap();
    file.set_len(9 << 20).unwrap();
    file.write_all_at(&[1; 5000], 3 << 20).unwrap();
    file.write_all_at(&vec![2; 3 << 20], 5 << 20).unwrap();
    copy::copy_data(&file, &fs::File::create_new(&to).unwrap()).unwrap();
    assert!(fs::read(&from).unwrap() == fs::read(&to).unwrap());
}

#[test]
fn command_is_judged_by_how_it_ends() {
    let long = Duration::from_secs(20);
    let of = |outcome, said: &str| Ran { outcome, said: said.to_owned() };
    assert_eq!(run("exit 0", long), of(Outcome::Exit(0), ""));
    assert_eq!(run("echo one; echo two >&2; echo; exit 3", long), of(Outcome::Exit(3), "two"));
    assert_eq!(run("echo going; kill -9 $$", long), of(Outcome::Signal(9), "going"));
    assert_eq!(run("cat", long), of(Outcome::Exit(0), ""), "there is nothing to read");
    assert_eq!(run("yes | head -c 3000000; echo end", long), of(Outcome::Exit(0), "end"));
    let told = run("printf 'a\\tb\\033[1m'; printf 'x%.0s' $(seq 1000)", long).said;
    assert!(told.starts_with("a b [1mxx") && told.chars().count() == 300, "{told}");
}

#[test]
fn command_that_hangs_is_killed_with_what_it_started() {
    let mark = tempfile::tempdir().unwrap();
    let late = mark.path().join("late");
    let started = Instant::now();
    let text = format!("(sleep 2; touch {}) & echo waits; sleep 100", late.display());
    let ran = run(&text, Duration::from_millis(200));
    assert_eq!((ran.outcome, ran.said.as_str()), (Outcome::TimedOut, "waits"));
    // One that ends and leaves something behind that holds its output.
    let ran = run(&format!("(sleep 2; touch {}) & exit 5", late.display()), Duration::from_secs(20));
    assert_eq!(ran.outcome, Outcome::Exit(5));
    assert!(started.elapsed() < Duration::from_secs(2), "it was waited for");
    std::thread::sleep(Duration::from_millis(2500).saturating_sub(started.elapsed()));
    assert!(!late.exists(), "what it started lives on");
}

#[test]
fn interrupted_command_gives_no_verdict() {
    let cancel = AtomicBool::new(false);
    let started = Instant::now();
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            cancel.store(true, Ordering::Relaxed);
        });
        command::run("sleep 100", Limits { timeout: Duration::from_secs(50), cancel: &cancel }, None).unwrap()
    });
    assert!(matches!(ran, Came::Cancelled) && started.elapsed() < Duration::from_secs(20));
}

#[test]
fn paths_are_quoted_where_they_stand() {
    let (pool, folder, marks) = (Path::new("/a/it's {folder}"), Path::new("/a"), Path::new("/a.marks"));
    let filled = |command: &str| filled_in(command, &Given { pool, folder, marks, event: 12 });
    assert_eq!(filled("check {pool} < {folder}/x {other} {"), "check '/a/it'\\''s {folder}' < /a/x {other} {");
    assert_eq!(filled("check {pool} {event} < {marks}"), "check '/a/it'\\''s {folder}' 12 < /a.marks");
    assert_eq!(run(&format!("printf '%s' {}", shell_quoted("a 'b' $c")), Duration::from_secs(20)).said, "a 'b' $c");
}

#[test]
fn each_image_is_judged_once_in_a_fresh_copy_and_nothing_is_left() {
    let trace = trace(&[("/x/the pool", 4096)]);
    let within = tempfile::tempdir().unwrap();
    let keep = tempfile::tempdir().unwrap();
    let settings = RecoverySettings {
        folder: Some(within.path().to_owned()),
        keep: Some(keep.path().to_owned()),
        ..settings("grep -q before {pool} && echo spoilt > {pool} && test $(ls {folder} | wc -l) = 1")
    };
    let mut recovery = recovery(&trace, settings).unwrap();
    assert!(judge(&mut recovery, 1, &[]).unwrap().recovers());
    let other = [(Line(0), [1; 64])];
    assert!(judge(&mut recovery, 2, &other).unwrap().recovers(), "a copy that was spoilt was used again");
    assert!(recovery.settled(2, false, at(8)).unwrap().is_empty());
    let gone = [(Line(0), [0; 64]), (Line(1), [0; 64])];
    let fails = judge(&mut recovery, 3, &gone).unwrap();
    assert_eq!(fails.describe(20), "ended with exit code 1, and printed nothing.");
    assert_eq!((recovery.runs(), recovery.knows(2), recovery.knows(4)), (3, true, false));
    judge(&mut recovery, 4, &other).unwrap();
    assert_eq!(recovery.settled(3, true, at(9)).unwrap(), [keep.path().join("crash-9.the pool")]);
    assert!(recovery.settled(4, true, at(10)).unwrap().is_empty(), "only the first failure is kept");
    assert!(fs::read(keep.path().join("crash-9.the pool")).unwrap().iter().all(|&byte| byte == 0));
    drop(recovery);
    assert_eq!(fs::read_dir(within.path()).unwrap().count(), 0);
}

#[test]
fn runs_that_nobody_waits_for_end_with_it() {
    let within = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let settings = RecoverySettings { folder: Some(within.path().to_owned()), ..settings("sleep 50 < {pool}") };
    let mut recovery = recovery(&trace(&[("pool", 4096)]), settings).unwrap();
    for digest in 0..5 {
        recovery.begin(digest, Occasion::default(), std::iter::empty()).unwrap();
    }
    assert_eq!(recovery.verdict(0, false, &NEVER).unwrap(), None);
    assert!(matches!(recovery.verdict(0, true, &AtomicBool::new(true)), Err(Failure::Cancelled)));
    drop(recovery);
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(fs::read_dir(within.path()).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_run_is_told_in_a_sentence() {
    let pool = trace(&[("pool", 4096)]);
    let refused = |trace: &Trace, settings| recovery(trace, settings).err().expect("refused").0;
    assert!(refused(&pool, settings("true")).contains("names neither {pool} nor {folder}"));
    assert!(refused(&trace(&[("memory:0x10", 64)]), settings("{pool}")).contains("records no files"));
    let forever = RecoverySettings { timeout_seconds: 0, ..settings("{pool}") };
    assert_eq!(refused(&pool, forever), "recover_timeout: 0 is not from 1 to 86400 seconds");
    let nowhere = RecoverySettings { folder: Some("/nowhere/at/all".into()), ..settings("{pool}") };
    assert_eq!(
        refused(&pool, nowhere),
        "recover: no folder can be made in '/nowhere/at/all': No such file or directory"
    );
    let nobody = RecoverySettings { jobs: 0, ..settings("{pool}") };
    assert_eq!(refused(&pool, nobody), "recover_jobs: 0 is not from 1 to 1024");
    let huge = trace(&[("pool", 1 << 47)]);
    assert!(refused(&huge, settings("{pool}")).contains("/pool' cannot be written: "));
    let mut missing = recovery(&pool, settings("no-such-program {pool}")).unwrap();
    let failure = judge(&mut missing, 1, &[]).unwrap_err().to_string();
    assert!(
        failure.contains("exit code 127 of 'no-such-program {pool}'") && failure.contains("not found"),
        "{failure}"
    );
}

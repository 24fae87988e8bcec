//! Concurrent writers, malicious links, and what a failure leaves.

use super::create;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn of_two_writers_at_once_the_last_to_finish_leaves_a_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let (mut first, first_name) = create(&path).unwrap();
    let (mut second, second_name) = create(&path).unwrap();
    for _ in 0..3 {
        first.write_all(b"first ").unwrap();
        second.write_all(b"second ").unwrap();
    }
    assert!(!path.exists(), "half of a file has the name");
    second_name.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"second second second ");
    first_name.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first first first ");
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn link_is_replaced_and_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, victim) = (folder.path().join("out"), folder.path().join("victim"));
    fs::write(&victim, "mine").unwrap();
    symlink(&victim, &path).unwrap();
    symlink(&victim, folder.path().join("out.part")).unwrap();
    let (mut file, name) = create(&path).unwrap();
    file.write_all(b"new").unwrap();
    name.finish().unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    assert!(path.symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn what_is_not_finished_goes_and_what_was_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    fs::write(&path, "older").unwrap();
    let (mut file, name) = create(&path).unwrap();
    file.write_all(b"half").unwrap();
    drop(name);
    assert_eq!(names(folder.path()), ["out"]);
    assert_eq!(fs::read(&path).unwrap(), b"older");
}

#[test]
fn permissions_are_those_of_any_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("out"), folder.path().join("other"));
    create(&path).unwrap().1.finish().unwrap();
    fs::write(&other, "").unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode(), other.metadata().unwrap().permissions().mode());
}

#[test]
fn longest_name_is_good_and_what_is_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    create(&folder.path().join("x".repeat(255))).unwrap().1.finish().unwrap();
    let refused = |path: &Path| create(path).err().expect("refused").to_string();
    assert_eq!(refused(folder.path()), "it exists and is not a file");
    assert_eq!(refused(Path::new("/dev/null")), "it exists and is not a file");
    assert!(refused(&folder.path().join("no/out")).starts_with("No such file or directory"));
    assert!(refused(&folder.path().join("x".repeat(256))).starts_with("File name too long"));
    assert_eq!(names(folder.path()).len(), 1);
}

//! The file of a timeline: with another writer at work, with a link in its way, and when the run fails.

use super::Timeline;
use crate::layout::MediaLayout;
use crate::message::{Line, Observer};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn two_timelines_of_one_name_leave_one_of_them_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let mut timelines = [3, 5].map(|lines| (Timeline::create(&path, MediaLayout::PLAIN).unwrap(), lines));
    for (timeline, lines) in &mut timelines {
        // More than is buffered.
        (0..*lines * 1000).for_each(|at| timeline.flushed(at, 0, Line(at)));
    }
    for (timeline, lines) in timelines {
        timeline.finish().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let events = document["traceEvents"].as_array().unwrap();
        assert_eq!(events.iter().filter(|event| event["name"] == "flush").count() as u64, lines * 1000);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn link_is_not_followed_and_an_unfinished_timeline_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (path, victim) = (folder.path().join("t.json"), folder.path().join("victim"));
    fs::write(&victim, "mine").unwrap();
    symlink(&victim, folder.path().join("t.json.part")).unwrap();
    drop(Timeline::create(&path, MediaLayout::PLAIN).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    Timeline::create(&path, MediaLayout::PLAIN).unwrap().finish().unwrap();
    assert!(path.symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    let refused = Timeline::create(folder.path(), MediaLayout::PLAIN).err().expect("a folder is no file").to_string();
    assert!(refused.ends_with("cannot be written: it exists and is not a file"), "{refused}");
}

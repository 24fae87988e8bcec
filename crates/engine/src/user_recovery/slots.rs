//! Where the command runs: slots, as many as there are runs at a time. The paths of a slot stay the same for all runs in
//! it, so that a command that serves, which is started with the first, finds each.

use super::command::{self, Came, Limits, Ran};
use super::placeholders::{Given, filled_in};
use super::server::{Offer, Server, may_serve};
use super::watched_reads::Watching;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a run is given, prepared in a place of its own and moved into a slot.
pub(super) struct Prepared {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The file of the marks, if the command names it.
    pub marks: Option<PathBuf>,
    /// The number of the crash point.
    pub event: u64,
}

/// What a recorded run has left.
pub(super) struct Left {
    pub ran: Ran,
    /// Where its files lay.
    pub lay: PathBuf,
    /// The recordings, in the order in which their programs began.
    pub streams: Vec<PathBuf>,
}

/// One slot.
struct Slot {
    folder: PathBuf,
    marks: PathBuf,
    socket: PathBuf,
    server: Option<Server>,
}

/// All slots of a command.
pub(super) struct Slots {
    command: String,
    /// Where slots are made.
    within: PathBuf,
    /// The name of the first file.
    pool: String,
    /// Whether the command is one program with plain words.
    plain: bool,
    idle: Mutex<Vec<Slot>>,
    made: AtomicUsize,
    /// Whether the command may become a server; unset when it is known that it does not.
    offers: AtomicBool,
}

impl Slots {
    /// Of a command that is told the number of the event or not.
    pub fn new(command: &str, told_event: bool, within: &Path, pool: &str) -> Self {
        let plain = may_serve(command);
        Self {
            // A server keeps the text of its first run.
            offers: AtomicBool::new(!told_event && plain),
            plain,
            command: command.to_owned(),
            within: within.to_owned(),
            pool: pool.to_owned(),
            idle: Mutex::default(),
            made: AtomicUsize::new(0),
        }
    }

    /// Runs the command on what is prepared, which is gone afterwards; `None` if the user interrupted.
    pub fn run(&self, prepared: &Prepared, limits: Limits<'_>) -> io::Result<Option<Ran>> {
        self.in_slot(prepared, |slot| {
            let ran = match self.run_in(slot, prepared, limits)? {
                Came::Ran(ran) => Some(ran),
                Came::Serves(_) | Came::Cancelled => None,
            };
            Ok(ran.map(|ran| Ran { said: slot.describe(&ran.said), ..ran }))
        })
    }

    /// Runs the command under `watcher` on what is prepared, the files `names`, which are gone afterwards: how that ended,
    /// and what the watcher has written.
    pub fn watch(
        &self,
        prepared: &Prepared,
        watcher: &[String],
        names: &[&str],
        limits: Limits<'_>,
    ) -> io::Result<Option<(Ran, String)>> {
        self.in_slot(prepared, |slot| {
            let files: Vec<PathBuf> = names.iter().map(|name| slot.folder.join(name)).collect();
            let (text, reads) = (self.text(slot, prepared), slot.folder.with_extension("reads"));
            let watching = Watching { watcher, text: &text, plain: self.plain, files: &files, reads: &reads };
            let ran = watching.run(limits)?;
            Ok(ran.map(|(ran, written)| (Ran { said: slot.describe(&ran.said), ..ran }, written)))
        })
    }

    /// Runs the command under `recorder` on what is prepared, whose folder has afterwards what that has left; `None` if the
    /// user interrupted.
    pub fn record(&self, prepared: &Prepared, recorder: &[String], limits: Limits<'_>) -> io::Result<Option<Left>> {
        self.in_slot(prepared, |slot| {
            let lay = std::fs::canonicalize(&slot.folder)?;
            let traces = slot.folder.with_extension("trace");
            let (traces, all) = (traces.display(), format!("{}/*", lay.display()));
            let options = [format!("--trace-files={traces}"), format!("--pmem={all}"), format!("--files={all}")];
            let text = command::under(recorder, &options, (&self.text(slot, prepared), self.plain));
            let Came::Ran(ran) = command::run(&text, limits, None)? else { return Ok(None) };
            let mut streams = Vec::new();
            loop {
                let ending = format!("trace-{}", streams.len());
                let stream = prepared.folder.with_extension(&ending);
                match std::fs::rename(slot.folder.with_extension(&ending), &stream) {
                    Ok(()) => streams.push(stream),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                    Err(error) => return Err(error),
                }
            }
            std::fs::rename(&slot.folder, &prepared.folder)?;
            Ok(Some(Left { ran: Ran { said: slot.describe(&ran.said), ..ran }, lay, streams }))
        })
    }

    /// The name of the first file.
    pub fn pool(&self) -> &str {
        &self.pool
    }

    /// Calls `run` with a slot at which what is prepared lies.
    fn in_slot<T>(&self, prepared: &Prepared, run: impl FnOnce(&mut Slot) -> io::Result<T>) -> io::Result<T> {
        let mut slot = self.lock().pop().unwrap_or_else(|| self.another());
        let ran = slot.take(prepared).and_then(|()| run(&mut slot));
        let _ = std::fs::remove_dir_all(&slot.folder);
        let _ = std::fs::remove_file(&slot.marks);
        // What the command has made unremovable is removed at the end, and nothing else comes here.
        if ran.is_ok() && !slot.folder.exists() {
            self.lock().push(slot);
        }
        ran
    }

    /// The command in a slot.
    fn text(&self, slot: &Slot, prepared: &Prepared) -> String {
        let pool = slot.folder.join(&self.pool);
        let given = Given { pool: &pool, folder: &slot.folder, marks: &slot.marks, event: prepared.event };
        filled_in(&self.command, &given)
    }

    fn run_in(&self, slot: &mut Slot, prepared: &Prepared, limits: Limits<'_>) -> io::Result<Came> {
        if let Some(server) = slot.server.take() {
            return slot.serve(server, limits);
        }
        let text = self.text(slot, prepared);
        let offer = if self.offers.load(Ordering::Relaxed) { Offer::at(&slot.socket) } else { None };
        let came = command::run(&text, limits, offer)?;
        if let Came::Serves(server) = came {
            return slot.serve(server, limits);
        }
        self.offers.store(false, Ordering::Relaxed);
        Ok(came)
    }

    fn another(&self) -> Slot {
        let folder = self.within.join(format!("slot-{}", self.made.fetch_add(1, Ordering::Relaxed)));
        Slot { marks: folder.with_extension("marks"), socket: folder.with_extension("socket"), folder, server: None }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Slot>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn take(&self, prepared: &Prepared) -> io::Result<()> {
        std::fs::rename(&prepared.folder, &self.folder)?;
        match &prepared.marks {
            Some(marks) => std::fs::rename(marks, &self.marks),
            None => Ok(()),
        }
    }

    fn serve(&mut self, server: Server, limits: Limits<'_>) -> io::Result<Came> {
        let (came, server) = server.run(limits)?;
        self.server = server;
        Ok(came)
    }

    /// What the command said, with what stands for the paths in place of them.
    fn describe(&self, said: &str) -> String {
        let said = said.replace(&*self.marks.to_string_lossy(), "{marks}");
        said.replace(&*self.folder.to_string_lossy(), "{folder}")
    }
}

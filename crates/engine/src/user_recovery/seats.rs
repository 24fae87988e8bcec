//! Where the command runs: seats, as many as there are runs at a time. The paths of a seat stay the same for all runs in
//! it, so that a command that serves, which is started with the first, finds each.

use super::command::{self, Came, Limits, Ran};
use super::placeholders::{Given, filled_in};
use super::server::{Offer, Server, may_serve};
use super::watch::Watching;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a run is given, prepared in a place of its own and moved to a seat.
pub(super) struct Prepared {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The file of the marks, if the command names it.
    pub marks: Option<PathBuf>,
    /// The number of the crash point.
    pub event: u64,
}

/// One seat.
struct Seat {
    folder: PathBuf,
    marks: PathBuf,
    socket: PathBuf,
    server: Option<Server>,
}

/// All seats of a command.
pub(super) struct Seats {
    command: String,
    /// Where seats are made.
    within: PathBuf,
    /// The name of the first file.
    pool: String,
    /// Whether the command is one program with plain words.
    plain: bool,
    idle: Mutex<Vec<Seat>>,
    made: AtomicUsize,
    /// Whether the command may become a server; unset when it is known that it does not.
    offers: AtomicBool,
}

impl Seats {
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
        self.seated(prepared, |seat| {
            let ran = match self.run_in(seat, prepared, limits)? {
                Came::Ran(ran) => Some(ran),
                Came::Serves(_) | Came::Cancelled => None,
            };
            Ok(ran.map(|ran| Ran { said: seat.told(&ran.said), ..ran }))
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
        self.seated(prepared, |seat| {
            let files: Vec<PathBuf> = names.iter().map(|name| seat.folder.join(name)).collect();
            let (text, reads) = (self.text(seat, prepared), seat.folder.with_extension("reads"));
            let watching = Watching { watcher, text: &text, plain: self.plain, files: &files, reads: &reads };
            let ran = watching.run(limits)?;
            Ok(ran.map(|(ran, written)| (Ran { said: seat.told(&ran.said), ..ran }, written)))
        })
    }

    /// Calls `run` with a seat at which what is prepared lies.
    fn seated<T>(&self, prepared: &Prepared, run: impl FnOnce(&mut Seat) -> io::Result<T>) -> io::Result<T> {
        let mut seat = self.lock().pop().unwrap_or_else(|| self.another());
        let ran = seat.take(prepared).and_then(|()| run(&mut seat));
        let _ = std::fs::remove_dir_all(&seat.folder);
        let _ = std::fs::remove_file(&seat.marks);
        // What the command has made unremovable is removed at the end, and nothing else comes here.
        if ran.is_ok() && !seat.folder.exists() {
            self.lock().push(seat);
        }
        ran
    }

    /// The command at a seat.
    fn text(&self, seat: &Seat, prepared: &Prepared) -> String {
        let pool = seat.folder.join(&self.pool);
        let given = Given { pool: &pool, folder: &seat.folder, marks: &seat.marks, event: prepared.event };
        filled_in(&self.command, &given)
    }

    fn run_in(&self, seat: &mut Seat, prepared: &Prepared, limits: Limits<'_>) -> io::Result<Came> {
        if let Some(server) = seat.server.take() {
            return seat.serve(server, limits);
        }
        let text = self.text(seat, prepared);
        let offer = if self.offers.load(Ordering::Relaxed) { Offer::at(&seat.socket) } else { None };
        let came = command::run(&text, limits, offer)?;
        if let Came::Serves(server) = came {
            return seat.serve(server, limits);
        }
        self.offers.store(false, Ordering::Relaxed);
        Ok(came)
    }

    fn another(&self) -> Seat {
        let folder = self.within.join(format!("seat-{}", self.made.fetch_add(1, Ordering::Relaxed)));
        Seat { marks: folder.with_extension("marks"), socket: folder.with_extension("socket"), folder, server: None }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Seat>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
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
    fn told(&self, said: &str) -> String {
        let said = said.replace(&*self.marks.to_string_lossy(), "{marks}");
        said.replace(&*self.folder.to_string_lossy(), "{folder}")
    }
}

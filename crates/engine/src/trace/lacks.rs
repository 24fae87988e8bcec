//! What a recording lacks of what its program did: stated in every verdict on it.

/// Something that a recording lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Lack {
    /// What other processes did that the program has started.
    Processes,
    /// What the program did after it had become another one.
    Exec(Vec<u8>),
    /// What the kernel transferred by itself, asked by this system call.
    Transfers(Vec<u8>),
    /// That a file of this name now has another one.
    Renames(Vec<u8>),
    /// What the program wrote to this file.
    Writes(Vec<u8>),
    /// The end: the recorder was killed, its stream could not be written, or the file is cut off.
    End,
    /// Whether there is any of this: the version of the format does not say.
    Untold(u8),
    /// What the log of pmemcheck does not show.
    OfPmemcheck,
}

impl Lack {
    /// Whether other processes have done it.
    pub fn is_of_others(&self) -> bool {
        matches!(self, Lack::Processes | Lack::Exec(_))
    }

    /// A sentence.
    pub fn sentence(&self) -> String {
        match self {
            Lack::Processes => "The program started other processes, of which nothing is recorded.".to_owned(),
            Lack::Exec(path) => {
                let path = String::from_utf8_lossy(path);
                format!("The program became '{path}' by exec, of which nothing is recorded.")
            }
            Lack::Transfers(call) => {
                let call = String::from_utf8_lossy(call);
                format!("The program used {call}: what the kernel wrote to memory for it is not recorded.")
            }
            Lack::Renames(path) => {
                let path = String::from_utf8_lossy(path);
                format!(
                    "'{path}' was renamed: memory after a power failure has files under the names that they had first."
                )
            }
            Lack::Writes(path) => {
                let path = String::from_utf8_lossy(path);
                format!(
                    "The program wrote to '{path}', which is not recorded (record --files PATTERN records such files)."
                )
            }
            Lack::End => "The recording broke off: what the program did afterwards is not there.".to_owned(),
            Lack::Untold(version) => format!(
                "The trace has version {version} of the format, which does not say whether the program left something to \
                 other processes."
            ),
            Lack::OfPmemcheck => "A log of pmemcheck shows non-temporal stores as ordinary ones, all threads as one, \
                and nothing of other processes."
                .to_owned(),
        }
    }
}

/// The sentences of several.
pub(super) fn sentences(lacks: &[Lack]) -> Vec<String> {
    lacks.iter().map(Lack::sentence).collect()
}

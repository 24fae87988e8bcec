//! The coverage of an exploration of legal states, and its sentence.

/// Counts over all points of a run.
#[derive(Clone, Default)]
pub(super) struct Tally {
    pub points: u64,
    /// Points at which every legal state was judged.
    pub exhaustive: u64,
    /// Approximate number of legal states, over all points.
    pub legal: f64,
    /// Number of judged classes of states; recovery distinguishes the classes.
    pub judged: u64,
    pub booted: u64,
    /// For points that were not judged exhaustively: the number of states drawn, of legal states, and the least number
    /// of lines that differed in every possible way from all or nothing having arrived.
    pub drawn: u64,
    pub legal_there: f64,
    pub bound: Option<u32>,
    /// Points at which the search ended because it had found enough.
    pub broken_off: u64,
}

impl Tally {
    /// The sentence about the coverage.
    pub fn coverage(&self) -> String {
        let Self { points, exhaustive, judged, booted, broken_off, .. } = self;
        let mut told = format!(
            "At {points} fences, every durable state that the persistency model and the rules of the hardware allow: {} of \
             them, judged as {judged} classes that recovery can tell apart; {booted} were also booted from an image.",
            about(self.legal)
        );
        if *exhaustive == *points {
            return told + " Exhaustive: no legal state is left out.";
        }
        told += &format!(" Exhaustive at {exhaustive} of the fences.");
        if *broken_off > 0 {
            told += &format!(" At {broken_off} the search ended with the first state that does not recover.");
        }
        let sampled = points - exhaustive - broken_off;
        if sampled > 0 {
            let bound = self.bound.unwrap_or(0);
            let lines = if bound == 1 { "line" } else { "lines" };
            told += &format!(
                " At {sampled}, bounded {bound}: every state that differs in at most {bound} {lines} from memory where \
                 everything has arrived, or nothing; and sampled {} of {}.",
                self.drawn,
                about(self.legal_there)
            );
        }
        told
    }
}

fn about(states: f64) -> String {
    if states < 1e6 { format!("{states}") } else { format!("about {states:.1e}") }
}

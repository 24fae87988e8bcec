//! Streams made by hand from the description of the format: shares no code with the reader.

/// A stream under construction. Every method appends one record.
#[derive(Clone)]
pub(crate) struct Stream {
    pub bytes: Vec<u8>,
    /// Where each record begins.
    pub starts: Vec<usize>,
    pub instructions: u64,
    address: u64,
    pc: u64,
    line: u64,
}

/// Where [`Stream::with_file`] maps its file.
pub(crate) const BASE: u64 = 0x7f00_0000_0000;
/// Number of bytes of that file.
pub(crate) const SIZE: u64 = 0x1_0000;

pub(crate) fn unsigned(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push((value % 128) as u8 + 128);
        value /= 128;
    }
    bytes.push(value as u8);
    bytes
}

pub(super) fn signed(value: i64) -> Vec<u8> {
    unsigned(if value < 0 { ((-(value + 1)) as u64) * 2 + 1 } else { value as u64 * 2 })
}

impl Stream {
    /// A stream with the magic number and the first SYNC.
    pub fn new() -> Self {
        let stream =
            Stream { bytes: b"CPTRACE\x01".to_vec(), starts: Vec::new(), instructions: 0, address: 0, pc: 0, line: 0 };
        stream.sync(0)
    }

    /// A stream that also maps one file of [`SIZE`] bytes at [`BASE`].
    pub fn with_file() -> Self {
        Stream::new().file(0, b"pool").map(BASE, SIZE, 0, 0)
    }

    pub fn record(mut self, tag: u8, fields: &[Vec<u8>]) -> Self {
        self.starts.push(self.bytes.len());
        self.bytes.push(tag);
        self.bytes.extend(fields.concat());
        self
    }

    pub fn sync(self, thread: u64) -> Self {
        let (records, instructions) = (self.starts.len() as u64, self.instructions);
        let mut stream = self.record(0x01, &[unsigned(records), unsigned(instructions), unsigned(thread)]);
        (stream.address, stream.pc, stream.line) = (0, 0, 0);
        stream
    }

    pub fn file(self, file: u64, path: &[u8]) -> Self {
        self.record(0x02, &[unsigned(file), unsigned(path.len() as u64), path.to_vec()])
    }

    pub fn map(self, base: u64, length: u64, file: u64, offset: u64) -> Self {
        self.record(0x03, &[unsigned(base), unsigned(length), unsigned(file), unsigned(offset)])
    }

    pub fn unmap(self, base: u64, length: u64) -> Self {
        self.record(0x04, &[unsigned(base), unsigned(length)])
    }

    pub fn code(self, base: u64, length: u64, offset: u64, path: &[u8]) -> Self {
        let path_length = unsigned(path.len() as u64);
        self.record(0x05, &[unsigned(base), unsigned(length), unsigned(offset), path_length, path.to_vec()])
    }

    pub fn image(self, file: u64, offset: u64, bytes: &[u8]) -> Self {
        self.record(0x06, &[unsigned(file), unsigned(offset), unsigned(bytes.len() as u64), bytes.to_vec()])
    }

    pub fn thread(self, thread: u64) -> Self {
        self.record(0x07, &[unsigned(thread)])
    }

    pub fn callers(self, addresses: &[u64]) -> Self {
        let mut before = 0u64;
        let differences = addresses.iter().map(|&address| {
            let field = signed(address.wrapping_sub(before) as i64);
            before = address;
            field
        });
        let fields = [vec![unsigned(addresses.len() as u64)], differences.collect()].concat();
        self.record(0x08, &fields)
    }

    /// CALLERS_AGAIN, which makes the stream one of version 3.
    pub fn callers_again(mut self, number: u64) -> Self {
        self.bytes[7] = self.bytes[7].max(3);
        self.record(0x09, &[unsigned(number)])
    }

    /// `i` and the program counter of an access or fence.
    fn at(&mut self, instructions: u64, pc: u64) -> [Vec<u8>; 2] {
        let fields = [unsigned(instructions), signed(pc.wrapping_sub(self.pc) as i64)];
        self.instructions += instructions + 1;
        self.pc = pc;
        fields
    }

    fn difference(&mut self, address: u64) -> Vec<u8> {
        let field = signed(address.wrapping_sub(self.address) as i64);
        self.address = address;
        field
    }

    pub fn load(mut self, instructions: u64, pc: u64, address: u64, size: u64) -> Self {
        let [i, pc] = self.at(instructions, pc);
        let a = self.difference(address);
        self.record(0x10, &[i, pc, a, unsigned(size)])
    }

    /// STORE, NT_STORE, ATOMIC or KERNEL_STORE; or CALLED_STORE, which makes the stream one of version 5.
    pub fn store(mut self, tag: u8, instructions: u64, pc: u64, address: u64, bytes: &[u8]) -> Self {
        if tag == 0x1d {
            self.bytes[7] = self.bytes[7].max(5);
        }
        let [i, pc] = self.at(instructions, pc);
        let a = self.difference(address);
        self.record(tag, &[i, pc, a, unsigned(bytes.len() as u64), bytes.to_vec()])
    }

    /// CLWB, CLFLUSHOPT or CLFLUSH.
    pub fn flush(mut self, tag: u8, instructions: u64, pc: u64, address: u64) -> Self {
        let [i, pc] = self.at(instructions, pc);
        let a = self.difference(address);
        self.record(tag, &[i, pc, a])
    }

    /// KERNEL_FLUSH, which makes the stream one of version 6.
    pub fn kernel_flush(mut self, pc: u64, address: u64, size: u64, how: u64) -> Self {
        self.bytes[7] = self.bytes[7].max(6);
        let [i, pc] = self.at(0, pc);
        let a = self.difference(address);
        self.record(0x1e, &[i, pc, a, unsigned(size), unsigned(how)])
    }

    /// COUNTER_WRITEBACK or COUNTER_ATOMIC, which makes the stream one of version 3.
    pub fn annotate(mut self, tag: u8, pc: u64, address: u64, size: u64) -> Self {
        self.bytes[7] = self.bytes[7].max(3);
        let [i, pc] = self.at(0, pc);
        let a = self.difference(address);
        self.record(tag, &[i, pc, a, unsigned(size)])
    }

    /// LOCKED, which makes the stream one of version 4.
    pub fn locked(mut self, pc: u64) -> Self {
        self.bytes[7] = self.bytes[7].max(4);
        self.fence(0x1c, 0, pc)
    }

    /// LACKS, which makes the stream one of version 4.
    pub fn lacks(mut self, what: u64, text: &[u8]) -> Self {
        self.bytes[7] = self.bytes[7].max(4);
        self.record(0x24, &[unsigned(what), unsigned(text.len() as u64), text.to_vec()])
    }

    /// FOLLOWS, which makes the stream one of version 7.
    pub fn follows(mut self, instructions: u64, thread: u64, records: u64) -> Self {
        self.bytes[7] = self.bytes[7].max(7);
        self.instructions += instructions;
        self.record(0x25, &[unsigned(instructions), unsigned(thread), unsigned(records)])
    }

    /// OTHER_LOAD or OTHER_STORE, which makes the stream one of version 8.
    pub fn other(mut self, tag: u8, instructions: u64, pc: u64, line: u64) -> Self {
        self.bytes[7] = 8;
        let [i, pc] = self.at(instructions, pc);
        let difference = signed(line.wrapping_sub(self.line) as i64);
        self.line = line;
        self.record(tag, &[i, pc, difference])
    }

    /// NEAR, which makes the stream one of version 8.
    pub fn near(mut self, loads: u64, stores: u64) -> Self {
        self.bytes[7] = 8;
        self.record(0x28, &[unsigned(loads), unsigned(stores)])
    }

    /// SFENCE or MFENCE.
    pub fn fence(mut self, tag: u8, instructions: u64, pc: u64) -> Self {
        let fields = self.at(instructions, pc);
        self.record(tag, &fields)
    }

    pub fn begin(self) -> Self {
        self.record(0x20, &[unsigned(0)])
    }

    pub fn commit(self) -> Self {
        self.record(0x21, &[unsigned(0)])
    }

    /// SCRATCH, which makes the stream one of version 2 at least.
    pub fn scratch(mut self, what: u64, base: u64, length: u64) -> Self {
        self.bytes[7] = self.bytes[7].max(2);
        self.record(0x23, &[unsigned(what), unsigned(base), unsigned(length)])
    }

    pub fn mark(self, text: &[u8]) -> Self {
        self.record(0x22, &[unsigned(text.len() as u64), text.to_vec()])
    }

    /// The whole stream, with END.
    pub fn end(self, status: u64) -> Vec<u8> {
        let (records, instructions) = (self.starts.len() as u64, self.instructions);
        self.record(0x7f, &[unsigned(records), unsigned(instructions), unsigned(status)]).bytes
    }
}

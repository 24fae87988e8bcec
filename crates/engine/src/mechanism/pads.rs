//! Counter-mode pads over lines, from the cipher room.

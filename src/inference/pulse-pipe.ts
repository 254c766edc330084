/** File descriptor of the pipe on which the pulse thread of an inference process answers pings. */
export const PULSE_FD = 4

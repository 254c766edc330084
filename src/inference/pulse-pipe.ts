/** File descriptor, in an inference process, of the pipe by which its own thread answers pings. */
export const PULSE_FD = 4

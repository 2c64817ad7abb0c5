// What can be done when drive9 refuses: the same words whether the host asked or a sandbox.
export const driveAdvice = {
  full: 'Remove old runs, or give the drive9 account more files or bytes.',
  tooLarge: 'Leave large files out, or ask the drive9 account’s owner for a higher limit.',
  unreachable: 'Check DRIVE9_SERVER and the network, then try again.',
}

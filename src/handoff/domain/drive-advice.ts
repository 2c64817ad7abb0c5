// Advice for failures of drive9, shared by the host and the sandbox program's errors.
export const driveAdvice = {
  full: 'Remove old runs, or give the drive9 account more files or bytes.',
  tooLarge: 'Leave large files out, or ask the drive9 account’s owner for a higher limit.',
  unreachable: 'Check DRIVE9_SERVER and the network, then try again.',
}

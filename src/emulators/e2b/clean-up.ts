// Removes the processes and the directory of an emulator that ended without cleaning up, for example by SIGKILL.
//
// A small shell waits on a pipe that only the emulator holds open. A line on the pipe ends the shell: nothing is left to do. If the pipe closes
// without a line, the emulator is dead and the shell becomes this program.
//   clean-up.ts <prefix of the marker of the emulator's processes> <the emulator's directory>

import { endProcesses } from './processes.js'
import { clearDirectory } from './sandbox-directory.js'

const [marker, directory] = process.argv.slice(2)
if (marker === undefined || directory === undefined) throw new Error('Give the marker and the directory.')

await endProcesses({ marker, directory, leaders: new Map() })
await clearDirectory(directory)

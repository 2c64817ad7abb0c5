// The guard of a local cloud: a program of its own that waits until the cloud is gone and then clears up what the cloud left.
//
// It holds the reading end of a pipe whose writing end only the cloud has. When the cloud ends in any way, also by SIGKILL, the pipe closes.
//   guard.ts <how the marker of the cloud's processes begins> <the cloud's directory>
import { clearDirectory } from './home.js'
import { endProcesses } from './processes.js'

const [marker, directory] = process.argv.slice(2)
if (marker === undefined || directory === undefined) throw new Error('Give the marker and the directory.')

process.stdin.on('error', () => undefined).resume()
process.stdin.once('close', () => {
  endProcesses({ marker, directory, leaders: new Map() })
    .then(() => clearDirectory(directory))
    .catch(() => {
      process.exitCode = 1
    })
})

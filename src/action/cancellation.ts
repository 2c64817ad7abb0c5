// A cancelled job gets SIGINT, SIGTERM 7.5 s later, and is killed 2.5 s after that. Node exits at the first signal and would leave a sandbox
// running. So both signals only abort the work, which then cleans up.
import { HandoffError } from '../handoff/index.js'

export function stopSignal(onStop: () => void): AbortSignal {
  const stop = new AbortController()
  const stopped = () => {
    if (stop.signal.aborted) return
    onStop()
    stop.abort(new HandoffError('cancelled', 'The job was cancelled.'))
  }
  process.on('SIGINT', stopped)
  process.on('SIGTERM', stopped)
  return stop.signal
}

// A cancelled job gets SIGINT, 7.5 s later SIGTERM, and 2.5 s after that it is gone. By itself Node would end at the first of them and leave a
// sandbox behind; so both only say that the work is to stop, and the work ends in order.
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

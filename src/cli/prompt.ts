// Questions at a terminal. What is typed as a secret is not shown.
import { createInterface } from 'node:readline/promises'
import { abortError } from '../handoff/domain/errors.js'

export async function askLine(question: string, usual: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  // In this mode the terminal's Ctrl-C comes here and not to the process.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  try {
    return (await lines.question(`${question} [${usual}]: `, { signal })).trim() || usual
  } catch (error) {
    throw signal.aborted ? abortError(signal, 'waiting for an answer') : error
  } finally {
    lines.close()
  }
}

/** Ends at Enter. Ctrl-C interrupts the process as it does elsewhere. */
export function askSecret(question: string, signal: AbortSignal): Promise<string> {
  const { stdin, stdout } = process
  return new Promise<string>((resolve, reject) => {
    let typed = ''
    const end = () => {
      stdin.off('data', hear)
      signal.removeEventListener('abort', stop)
      stdin.setRawMode(false).pause()
      stdout.write('\n')
    }
    const stop = () => {
      end()
      reject(abortError(signal, 'waiting for a key'))
    }
    const hear = (keys: string) => {
      const enter = keys.search(/[\r\n]/)
      for (const key of enter < 0 ? keys : keys.slice(0, enter)) typed = afterKey(typed, key)
      if (enter < 0) return
      end()
      resolve(typed.trim())
    }
    signal.addEventListener('abort', stop, { once: true })
    // First the terminal stops to show what is typed, then it is asked for.
    stdin.setEncoding('utf8').setRawMode(true).resume().on('data', hear)
    stdout.write(`${question} (not shown): `)
    if (signal.aborted) stop()
  })
}

function afterKey(typed: string, key: string): string {
  if (key === '\u0003') process.kill(process.pid, 'SIGINT')
  if (key === '\u007f' || key === '\b') return typed.slice(0, -1)
  return key >= ' ' ? typed + key : typed
}

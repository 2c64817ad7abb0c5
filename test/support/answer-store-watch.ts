// Watches the answer store of one run between any two requests of the drive: no record is ever torn, and none that is done ever changes.

import type { LocalDrive } from '../../src/emulators/drive9/server/main.js'
import type { AnswerRecord } from '../../src/handoff/domain/answer.js'
import { decodeAnswer } from '../../src/handoff/domain/answer.js'
import { artifact } from '../../src/handoff/domain/run.js'

export interface AnswerStoreWatch {
  look(): void
  records(): AnswerRecord[]
  wrong: string[]
}

const stamp = /^<!-- handoff:latest accepted=(\S+) -->\n/

export function watchAnswerStore(drive: LocalDrive, directory: string): AnswerStoreWatch {
  const done = new Map<string, Buffer>()
  let latest = ''
  const wrong: string[] = []

  function lookAtRecord(path: string): void {
    const bytes = drive.readFile(path)
    if (bytes === undefined) return
    const before = done.get(path)
    if (before && !before.equals(bytes)) wrong.push(`${path} was done and has changed`)
    try {
      if (decodeAnswer(bytes).status === 'done') done.set(path, bytes)
    } catch (error) {
      wrong.push(`${path} is torn: ${String(error)}`)
    }
  }

  function lookAtLatest(): void {
    const text = drive.readFile(`${directory}/${artifact.latestAnswer}`)?.toString()
    if (text === undefined) return
    const accepted = stamp.exec(text)?.[1]
    if (accepted === undefined || !text.endsWith('\n')) wrong.push('the latest answer is torn')
    else if (accepted < latest) wrong.push('an earlier answer replaced a later one')
    else latest = accepted
  }

  const paths = () =>
    drive
      .tree(`${directory}/${artifact.answers}`)
      .filter((entry) => !entry.isDirectory)
      .map(({ path }) => path)
  return {
    wrong,
    look() {
      for (const path of paths()) lookAtRecord(path)
      for (const path of done.keys()) if (drive.readFile(path) === undefined) wrong.push(`${path} was done and is gone`)
      lookAtLatest()
    },
    records: () => paths().map((path) => decodeAnswer(drive.readFile(path)!)),
  }
}

// The files in which a team writes to agents and assistants. They are shown to the model as data.
import type { Excerpt } from '../../../domain/answer.js'
import { redactedLines } from '../../../domain/source-lines.js'
import type { Corpus } from './corpus.js'

const noteFiles = new Set(['AGENTS.md', 'CLAUDE.md', '.github/copilot-instructions.md'])
/** Characters of each file. */
const longestNote = 3_000

/** The first lines of each. A file that another repeats is left out: teams often copy one to the other. */
export async function readTeamNotes(corpus: Corpus): Promise<Excerpt[]> {
  const files = corpus.files.filter(({ path }) => noteFiles.has(path))
  const contents = await corpus.read(files)
  const blobs = new Set<string>()
  return files.flatMap(({ index, path, blob }) => {
    const lines = redactedLines(contents.get(index) ?? Buffer.alloc(0))
    let length = 0
    const first = lines.filter((line) => {
      length += line.length + 1
      return length <= longestNote
    })
    if (first.length === 0 || blobs.has(blob)) return []
    blobs.add(blob)
    return [{ path, blob, from: 1, lines: first, source: 'code' as const, score: 0 }]
  })
}

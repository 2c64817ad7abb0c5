// Writes the replies to `Task: part`, `Task: combine` and `Task: summary`: plain sentences, each with the place it stands on.
import { commandFacts, entryFacts, type Fact, fileFacts, identityFacts, riskFacts } from './file-facts.js'
import { interleave, joinWithin } from './format-text.js'
import type { FileBlock, Prompt } from './parse-prompt.js'

/** `src/a.ts:10`, bare, before the sentence's full stop. */
function say({ text, file, line }: Fact): string {
  return `${text.replace(/[.!?]$/, '')} (${file.path}:${line.number}).`
}

/** Plain paragraphs about the files of one directory, or about the parts that were written before. */
export function writePart(prompt: Prompt, maxBytes: number): string {
  const { files } = prompt
  const facts = [
    ...identityFacts(files),
    ...entryFacts(files).slice(0, 2),
    ...commandFacts(files).slice(0, 8),
    ...describe(files),
  ]
  const said = [...carried(prompt), ...facts.map(say)]
  return joinWithin(said.length > 0 ? said : [nothing], maxBytes, '\n\n')
}

/** Lists the first fact of every file before any second fact. Tests and settings come after the other files. */
function describe(files: FileBlock[]): Fact[] {
  const later = files.filter(
    (file) => file.kind === 'test' || file.kind === 'configuration' || file.path.startsWith('.'),
  )
  const first = files.filter((file) => !later.includes(file))
  return [first, later].flatMap((some) => interleave(some.map(fileFacts)))
}

const nothing = 'Nothing that was shown says it.'

const headings = [
  '## What it is and for whom',
  '## How it is built',
  '## Where to start reading',
  '## How to build, test and run it, and its risks',
] as const

/** The shares of the room that the four sections may fill. */
const shares = [0.25, 0.4, 0.15, 0.2]

export function writeSummary(prompt: Prompt, maxBytes: number): string {
  const { files } = prompt
  const earlier = Map.groupBy(carried(prompt), subjectOf)
  const before = (subject: Subject) => earlier.get(subject) ?? []
  const built = [...before('structure'), ...describe(files).map(say)]
  const entries = [...before('entry'), ...entryFacts(files).map(say)]
  const sections = [
    [...before('identity'), ...identityFacts(files).map(say)],
    built,
    entries.length > 0 ? entries : built.slice(0, 5),
    [
      ...before('command').slice(0, 20),
      ...[...commandFacts(files).slice(0, 20), ...riskFacts(files).slice(0, 10)].map(say),
    ],
  ]
  const room = maxBytes - headings.join('').length - 8 * headings.length
  return headings
    .map((heading, index) => {
      const said = sections[index]!
      const parts = said.length > 0 ? said.map((sentence) => `- ${sentence}`) : [nothing]
      return `${heading}\n\n${joinWithin(parts, Math.max(80, Math.floor(room * shares[index]!)), '\n', nothing)}`
    })
    .join('\n\n')
}

type Subject = 'identity' | 'entry' | 'command' | 'structure'

/** Which section an earlier sentence belongs to, by the words that this model itself writes. */
function subjectOf(sentence: string): Subject {
  const nearTheTop = /\((?:[^/()]+\/)?[^/()]+:\d+\)\.?$/.test(sentence)
  if (/^(Its README is headed|The README says|\S+ gives as its)/.test(sentence))
    return nearTheTop ? 'identity' : 'structure'
  if (/^(Execution starts in|The package's entry is)|is an entry by its name/.test(sentence)) return 'entry'
  if (/^(`npm run |The workflow runs|The documentation gives|The container starts)| has the target /.test(sentence))
    return 'command'
  return 'structure'
}

/** Sentences of earlier prose that name a place. They are passed on as they are, in turn from each part, so that no part is left out. */
function carried(prompt: Prompt): string[] {
  const parts = prompt.texts
    .filter((block) => !['tree', 'question', 'earlier'].includes(block.kind))
    .map((block) => block.lines.flatMap(sentencesWithPlaces))
  return interleave(parts)
}

function sentencesWithPlaces(line: string): string[] {
  if (line.startsWith('#')) return []
  const sentences = line.replace(/^\s*[-*]\s+/, '').split(/(?<=[.!?]\)?)\s+(?=[A-Z`“])/)
  return sentences.map((sentence) => sentence.trim()).filter((sentence) => /\S+\.?\w*:\d+/.test(sentence))
}

// Writes the replies to `Task: part`, `Task: combine` and `Task: summary`: plain sentences, each with the place it stands on.

import type { Fact } from './fact.js'
import { besides, centralFacts, entryFacts, fileFacts, holdsTests, riskFacts } from './file-facts.js'
import { interleave, joinWithin } from './format-text.js'
import type { FileBlock, Prompt } from './parse-prompt.js'
import { commandFacts, folderFacts, identityFacts } from './project-facts.js'
import { citations } from './write-answer.js'

/** A fact as a sentence with its place, in the form that the instructions ask for. */
type Say = (fact: Fact) => string

function sayAs(prompt: Prompt): Say {
  const bracketed = prompt.system.includes('[[')
  return (fact) =>
    bracketed
      ? `${fact.text} ${citations(fact)}`
      : `${fact.text.replace(/[.!?]$/, '')} (${fact.file.path}:${fact.lines[0]?.number ?? 1}).`
}

/** Plain paragraphs about the files of one directory, or about the parts that were written before. */
export function writePart(prompt: Prompt, maxBytes: number): string {
  const { files } = prompt
  const facts = [
    ...identityFacts(files),
    ...folderFacts(files),
    ...[...entryFacts(files).slice(0, 2), ...centralFacts(files).slice(0, 2)],
    ...describe(files),
    ...commandFacts(files).slice(0, 8),
    ...riskFacts(files).slice(0, 2),
  ]
  const said = distinct([...carried(prompt), ...facts.map(sayAs(prompt))])
  return joinWithin(said.length > 0 ? said : [nothing], maxBytes, '\n\n')
}

/** Lists the first fact of every file before any second fact. Tests and settings come after the other files. */
function describe(files: FileBlock[]): Fact[] {
  const later = files.filter((file) => holdsTests(file) || file.kind === 'configuration' || file.path.startsWith('.'))
  const first = files.filter((file) => !later.includes(file))
  return [first, later].flatMap((some) => interleave(some.map(fileFacts)))
}

/** One sentence for each file that is shown. What stays is not repeated. */
export function writeUpdate(prompt: Prompt, maxBytes: number): string {
  const said = describe(prompt.files).map(sayAs(prompt)).slice(0, prompt.files.length)
  return said.length === 0 ? 'NOTHING' : joinWithin(distinct(said), maxBytes, ' ')
}

const nothing = 'Nothing that was shown says it.'

/** The first sentence of the summary: who wrote it, and how. */
const author = 'The offline model wrote this by fixed rules from what files say; no language model has read them.'

const headings = [
  '## What it is and for whom',
  '## How it is built',
  '## Where to start reading',
  '## How to build, test and run it, and its risks',
] as const

/** The shares of the room that the four sections may fill. */
const shares = [0.25, 0.4, 0.15, 0.2]

const mostCommands = 10
const mostRisks = 4
const mostEntries = 6

export function writeSummary(prompt: Prompt, maxBytes: number): string {
  const { files } = prompt
  const say = sayAs(prompt)
  const earlier = Map.groupBy(carried(prompt), subjectOf)
  const before = (subject: Subject) => earlier.get(subject) ?? []
  const built = byImportance([...folderFacts(files).map(say), ...before('structure'), ...describe(files).map(say)])
  const found = shallowFirst([
    ...before('entry'),
    ...[...entryFacts(files).slice(0, 6), ...centralFacts(files)].map(say),
  ])
  // Without a program or a package the first files of the product are where to start.
  const entries = (found.length > 0 ? onePerFile(found) : built).slice(0, found.length > 0 ? mostEntries : 3)
  const sections = [
    [...before('identity'), ...identityFacts(files).map(say)],
    built.filter((sentence) => !entries.includes(sentence)),
    entries,
    [
      ...workflowsLast(ownFirst([...before('command'), ...commandFacts(files).map(say)])).slice(0, mostCommands),
      ...before('risk').slice(0, mostRisks),
      ...riskFacts(files).slice(0, mostRisks).map(say),
    ],
  ]
  const room = maxBytes - headings.join('').length - author.length - 8 * headings.length
  return headings
    .map((heading, index) => {
      const said = distinct(sections[index]!)
      const parts = said.length > 0 ? said.map((sentence) => `- ${sentence}`) : [nothing]
      const list = joinWithin(parts, Math.max(80, Math.floor(room * shares[index]!)), '\n', nothing)
      return `${heading}\n\n${index === 0 ? `${author}\n\n` : ''}${list}`
    })
    .join('\n\n')
}

const pathOf = (sentence: string) => /`([^`]+)`/.exec(sentence)?.[1] ?? ''

/** The product before its tests and examples, and not more than one test of a folder. */
function byImportance(sentences: string[]): string[] {
  const folders = new Set<string>()
  const kept = sentences.filter((sentence) => {
    const folder = pathOf(sentence).split('/').slice(0, -1).join('/')
    return !/^`[^`]+` tests “/.test(sentence) || (!folders.has(folder) && folders.add(folder))
  })
  const later = (sentence: string) => besides.test(pathOf(sentence)) || /^`[^`]+` tests “|^`\./.test(sentence)
  return [...kept.filter((one) => !later(one)), ...kept.filter(later)]
}

/** Programs and packages near the top of the repository come first. */
const shallowFirst = (sentences: string[]) =>
  sentences
    .filter((sentence) => !besides.test(pathOf(sentence)))
    .sort((a, b) => pathOf(a).split('/').length - pathOf(b).split('/').length)

/** A long file is shown in pieces, and each seems to be a place to start. */
const onePerFile = (sentences: string[]) => {
  const start = (sentence: string) => sentence.split('`', 2).join('`') + pathOf(sentence)
  return sentences.filter((sentence, index) => sentences.findIndex((one) => start(one) === start(sentence)) === index)
}

/** Commands of examples come after those of the product. */
const ownFirst = (sentences: string[]) => {
  const isBeside = (sentence: string) => besides.test(/ in `([^`]+)` runs /.exec(sentence)?.[1] ?? '')
  return [...sentences.filter((one) => !isBeside(one)), ...sentences.filter(isBeside)]
}

const workflowsLast = (sentences: string[]) => {
  const isWorkflow = (sentence: string) => sentence.startsWith('The workflow ')
  const others = sentences.filter((one) => !isWorkflow(one))
  return others.length >= 3 ? others : [...others, ...sentences.filter(isWorkflow)]
}

type Subject = 'identity' | 'entry' | 'command' | 'structure' | 'risk'

/** Which section an earlier sentence belongs to, by the words that this model itself writes. */
function subjectOf(sentence: string): Subject {
  if (
    /^The README (introduces|is headed) |^`[^`/]+` names the (package|module|artifact) |^`[^`/]+` lists .* among its dependencies/.test(
      sentence,
    )
  )
    return 'identity'
  if (/^A program starts in|^Reading can start here|^`[^`]+` is imported by |^`[^`]+` names the entry/.test(sentence))
    return 'entry'
  if (
    /^`npm run |^`(make|just) \S+` is a target|^The workflow |^The container starts|gives the command /.test(sentence)
  )
    return 'command'
  if (/^A comment in /.test(sentence)) return 'risk'
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
  // A sentence of this model ends with its place; full stops inside it belong to quotations.
  const sentences = line.replace(/^\s*[-*]\s+/, '').split(/(?<=:\d+\)\.|\]\])\s+(?!\[\[)/)
  return sentences.map((sentence) => sentence.trim()).filter((sentence) => /\S+\.?\w*:\d+/.test(sentence))
}

/** Each sentence once, whatever place it names. */
function distinct(sentences: string[]): string[] {
  const words = (sentence: string) => sentence.replace(/ (\[\[.*\]\]|\([^()]*:\d+\)\.?)$/, '')
  const seen = new Set<string>()
  return sentences.filter((sentence) => !seen.has(words(sentence)) && seen.add(words(sentence)))
}

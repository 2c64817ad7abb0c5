// Writes the reply to `Task: compare`: the lines that bear on the question and stand on one side only, each quoted with its commit. Where none
// differ it says so and quotes one from each side.

import { findRelevantLines, type RelevantLine } from './find-relevant-lines.js'
import { code, joinWithin, shorten } from './format-text.js'
import type { FileBlock, Prompt } from './parse-prompt.js'
import { citation, disclaimer } from './write-answer.js'

export function writeComparison(prompt: Prompt, maxBytes: number): string {
  const [earlier, later] = [commitOf(prompt, 'earlier'), commitOf(prompt, 'later')]
  const [before, after] = [filesAt(prompt, earlier), filesAt(prompt, later)]
  const unchanged = unchangedIn(prompt)
  const differing = (files: FileBlock[]) => files.filter(({ path }) => !unchanged.has(path))
  const [gone, fresh] = [onlyIn(differing(before), after), onlyIn(differing(after), before)]
  const [lost, found] = [places(prompt, gone), places(prompt, fresh)]
  const changes = [
    ...[...found, ...besides(lost, found, fresh)].map((place) => sentence(place, 'reads', 'as of')),
    ...[...lost, ...besides(found, lost, gone)].map((place) => sentence(place, 'no longer reads', 'as it did at')),
  ]
  if (changes.length > 0) return joinWithin([...changes, disclaimer], maxBytes, '\n\n')
  const same = [before, after].flatMap((files) => places(prompt, files).slice(0, 1))
  if (same.length === 0) {
    return `NOT FOUND\n\nNothing in the ${prompt.files.length} pieces that were shown speaks of this question.`
  }
  const nothing = `Nothing that was shown and bears on this differs between ${code(earlier)} and ${code(later)}.`
  const kept = same.map((place) => sentence(place, 'reads', 'at'))
  return joinWithin([nothing, ...kept, disclaimer], maxBytes, '\n\n')
}

function commitOf(prompt: Prompt, side: string): string {
  const lines = prompt.texts.find((block) => block.kind === 'commits')?.lines ?? []
  return lines.find((line) => line.startsWith(`${side}: `))?.slice(side.length + 2) ?? ''
}

/** What is the same on both sides is shown on one of them only. */
function unchangedIn(prompt: Prompt): Set<string> {
  const lines = prompt.texts.find((block) => block.kind === 'changes')?.lines ?? []
  return new Set(lines.filter((line) => line.startsWith('same: ')).map((line) => JSON.parse(line.slice(6)) as string))
}

const filesAt = (prompt: Prompt, commit: string) => prompt.files.filter((file) => file.at === commit)

/** The lines of these files that the other side does not show in the file of the same path. */
function onlyIn(files: FileBlock[], others: FileBlock[]): FileBlock[] {
  return files.map((file) => {
    const known = new Set(
      others.filter((other) => other.path === file.path).flatMap((other) => other.lines.map(({ text }) => text.trim())),
    )
    return { ...file, lines: file.lines.filter(({ text }) => text.trim() !== '' && !known.has(text.trim())) }
  })
}

/** What stands on this side of the files that only the other side's words were found in. */
function besides(
  other: RelevantLine[],
  own: RelevantLine[],
  files: FileBlock[],
): Pick<RelevantLine, 'file' | 'index'>[] {
  const missing = new Set(
    other.map(({ file }) => file.path).filter((path) => !own.some(({ file }) => file.path === path)),
  )
  return files.filter((file) => missing.has(file.path) && file.lines.length > 0).map((file) => ({ file, index: 0 }))
}

const places = (prompt: Prompt, files: FileBlock[]) => findRelevantLines({ ...prompt, files }, 3)

function sentence({ file, index }: Pick<RelevantLine, 'file' | 'index'>, says: string, when: string): string {
  const line = file.lines[index]!
  const cited = citation({ ...file, path: `${file.at}:${file.path}` }, [line])
  return `${code(file.path)} ${says} ${code(shorten(line.text.trim()))} ${when} ${code(file.at ?? '')}. ${cited}`
}

// Lines of a commit: found by words, read by their place, or read as a resource.
import { type CallToolResult, ResourceNotFoundError } from '@modelcontextprotocol/server'
import type * as Product from '../../handoff/index.js'
import { parseRunName } from '../../handoff/index-for-stored-answers.js'
import { locate } from '../ask/question.js'
import { contextForRequest } from '../context-for-request.js'
import { wrong } from '../http/parse-request.js'
import { divideTime } from '../http/request-deadline.js'
import { placeOf } from '../http/responses.js'
import type { FindInput, LinesInput } from './schemas.js'
import type { McpCall } from './session.js'

/** What clients take of one result. */
const tokens = 6_000
/** Lines that one read gives at most. */
const mostLines = 400

export async function findByWords(call: McpCall, { repository, ref, query }: FindInput): Promise<CallToolResult> {
  return linesResult(call, await lookFor(call, repository, ref, { words: query }))
}

export async function readPlace(call: McpCall, input: LinesInput): Promise<CallToolResult> {
  const { repository, ref, path, from = 1, to = from + mostLines - 1 } = input
  return linesResult(call, await lookFor(call, repository, ref, placeFrom(path, from, to)))
}

function placeFrom(path: string, from: number, to: number) {
  if (to < from) throw wrong('`to` is less than `from`.')
  return { path, from, to: Math.min(to, from + mostLines - 1) }
}

async function lookFor(
  { app, caller, work, signal, emit }: McpCall,
  repository: string,
  ref: string | undefined,
  wanted: Product.LinesRequest['wanted'],
): Promise<Product.FoundLines> {
  const where = await locate(app, caller, repository, signal)
  const { findLines } = await app.product()
  const { workBy } = divideTime(work.deadline, Date.now())
  const context = contextForRequest(await app.context(), { workBy, background: work.background, emit })
  const labels = { request: work.requestId.slice(0, 60) }
  const request = { ...where, name: parseRunName(ref ?? 'HEAD'), wanted, tokens, caller: caller.name, labels }
  return findLines(request, context, signal)
}

async function linesResult({ app }: McpCall, found: Product.FoundLines): Promise<CallToolResult> {
  const { cleanText, permalink } = await app.product()
  const { handoff } = found.run
  const { repository, run, commit } = handoff
  const lines = found.excerpts.map(({ path, blob, from, lines }) => {
    const to = from + lines.length - 1
    const text = lines.map((line, index) => `${from + index}\t${cleanText(line)}`).join('\n')
    const url = permalink(placeOf(app.settings.github, handoff), commit, { path, from, to })
    return { path, blob, from, to, text, uri: linesUri(repository, commit, { path, from, to }), url }
  })
  const words = found.searched.length === 0 ? {} : { searched: found.searched }
  const excerpts = lines.map(({ path, from, to, text }) => `${cleanText(path)}:${from}-${to}\n${text}`).join('\n\n')
  return {
    content: [
      { type: 'text', text: excerpts === '' ? `Nothing was found for ${found.searched.join(', ')}.` : excerpts },
    ],
    structuredContent: { repository, run, commit, lines, ...words },
  }
}

// ── the resource ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The address of lines of one commit. They never change. */
export function linesUri(repository: string, commit: string, { path, from, to }: Product.CitedPlace): string {
  const encode = (text: string) => text.split('/').map(encodeURIComponent).join('/')
  return `handoff:///${encode(repository)}@${commit}/${from}-${to}/${encode(path)}`
}

export const linesTemplate = 'handoff:///{+repository}@{commit}/{from}-{to}/{+path}'

const uriForm = /^handoff:\/\/\/([^@]{1,1200})@([0-9a-f]{40})\/(\d{1,9})-(\d{1,9})\/(.{1,24000})$/

export async function readLinesResource(call: McpCall, uri: string) {
  const [, repository, commit, from, to, path] = uriForm.exec(uri) ?? []
  if (repository === undefined || path === undefined || Number(from) < 1) throw new ResourceNotFoundError(uri)
  const place = placeFrom(decode(path, uri), Number(from), Number(to))
  const { excerpts } = await lookFor(call, decode(repository, uri), commit, place)
  const text = excerpts.flatMap(({ lines }) => lines).join('\n')
  return { contents: [{ uri, mimeType: 'text/plain', text }] }
}

function decode(text: string, uri: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ResourceNotFoundError(uri)
  }
}

// The tools that read what is stored: summaries and runs. They start no sandbox and ask no model.
import type { CallToolResult } from '@modelcontextprotocol/server'
import type * as Product from '../../handoff/index.js'
import { parseRunName } from '../../handoff/index-for-stored-answers.js'
import { locate } from '../ask/question.js'
import { runView } from '../http/responses.js'
import { visibleRepositories } from '../repositories.js'
import type { OfRunOrRepoName, RunsInput } from './schemas.js'
import type { McpCall } from './session.js'

/** The schema admits one of both, and one repository. */
export function repositoryOf({ repository, repoName = [] }: OfRunOrRepoName): string {
  return repository ?? [repoName].flat()[0] ?? ''
}

export async function readSummary(call: McpCall, input: OfRunOrRepoName): Promise<CallToolResult> {
  const { handoff, summary } = await findSummary(call, input)
  const { repository, run, commit } = handoff
  return { content: [{ type: 'text', text: summary }], structuredContent: { repository, run, commit, summary } }
}

/** DeepWiki's name for the headings of a summary. */
export async function readStructure(call: McpCall, input: OfRunOrRepoName): Promise<CallToolResult> {
  const { summary } = await findSummary(call, input)
  const headings = summary.split('\n').filter((line) => /^#{1,6} /.test(line))
  return { content: [{ type: 'text', text: headings.join('\n') }] }
}

async function findSummary(
  { app, caller, signal }: McpCall,
  input: OfRunOrRepoName,
): Promise<{ handoff: Product.Handoff; summary: string }> {
  const where = await locate(app, caller, repositoryOf(input), signal)
  const [product, context] = await Promise.all([app.product(), app.lookup()])
  const name = parseRunName(input.ref ?? 'HEAD')
  const run = await product.resolveRun({ ...where, readOnly: true }, name, context, signal)
  return {
    handoff: run.handoff,
    summary: product.cleanText(await product.summaryWithCorrections(context, run, signal)),
  }
}

export async function listRuns(
  { app, caller, signal }: McpCall,
  { repository, limit = 20, cursor }: RunsInput,
): Promise<CallToolResult> {
  if (repository === undefined) {
    const repositories = await visibleRepositories(app, caller, signal)
    return listed({ repositories }, repositories)
  }
  const where = await locate(app, caller, repository, signal)
  const [product, context] = await Promise.all([app.product(), app.lookup()])
  const wanted = { limit, cursor }
  const page = await product.listRuns(context, where.repository, wanted, signal)
  const { id } = where.repository
  const runs = page.items.filter(({ repositoryId }) => id === undefined || repositoryId === id).map(runView)
  const lines = runs.map(({ run, ref, sealedAt }) => [run, ref, sealedAt].filter((one) => one !== undefined).join('  '))
  return listed({ runs, next: page.next }, lines)
}

function listed(structuredContent: Record<string, unknown>, lines: string[]): CallToolResult {
  return { content: [{ type: 'text', text: lines.join('\n') || 'There is none.' }], structuredContent }
}

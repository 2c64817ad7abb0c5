// Has the model say what a pull request changes, from the lines and the ripples that the sandbox found. The run never fails for its sake: what goes
// wrong here stands in the report.
import type { AppContext } from '../../context.js'
import type { Change } from '../../domain/change/change.js'
import { changeBlocks, changeMessages, excerptOf, parseChangeReply } from '../../domain/change/change-prompt.js'
import {
  type ChangeReport,
  changeReportBytes,
  encodeChangeReport,
  mostStatements,
} from '../../domain/change/change-report.js'
import { isHandoffError } from '../../domain/errors.js'
import { costOf } from '../../domain/model-prices.js'
import { artifact } from '../../domain/run.js'
import { noCounts, parseStatements } from '../../domain/summary/parse-statements.js'
import { createPathIndex } from '../../domain/summary/path-index.js'
import type { FileTable } from '../../domain/survey.js'
import type { Cost, Usage } from '../../domain/usage.js'
import { addUsage, complete, estimateMessages, withinContext } from '../call-model.js'
import type { SummaryArtifacts } from './build-artifacts.js'
import type { RunFile } from './diagram-file.js'
import type { SandboxChange } from './survey-in-sandbox.js'

interface ChangeJob {
  context: AppContext
  head: string
  found: SandboxChange
  table: FileTable | undefined
  /** What the summary has cost. */
  spent: Cost | undefined
}

const replyTokens = 900
/** Fewer sentences are no account of a change. */
const longestProblem = 900

export async function writeChange(job: ChangeJob, signal: AbortSignal): Promise<ChangeReport> {
  const { context, head, found } = job
  const nothing: ChangeReport = {
    version: 1,
    base: found.base,
    head,
    model: context.ports.model.name,
    statements: [],
    questions: [],
    unseen: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
  }
  const change = checkedChange(job)
  if (change === undefined) {
    const base = found.base.slice(0, 7)
    return {
      ...nothing,
      problem: `The git host does not serve the base ${base} any more, so there is nothing to compare with.`,
    }
  }
  const report = { ...nothing, change }
  const unseen = unseenFiles(change, new Set(found.lines.map(({ path }) => path)))
  if (found.lines.length === 0) {
    return {
      ...report,
      unseen,
      problem: 'No line was changed that a model could read: only binary, generated or moved files.',
    }
  }
  try {
    return await askModel(job, { ...report, unseen }, change, signal)
  } catch (error) {
    if (signal.aborted || !isHandoffError(error)) throw error
    return {
      ...report,
      unseen,
      problem: `The model did not describe the change. ${error.message}`.slice(0, longestProblem),
    }
  }
}

async function askModel(
  job: ChangeJob,
  report: ChangeReport,
  change: Change,
  signal: AbortSignal,
): Promise<ChangeReport> {
  const { context, found, table } = job
  const { model } = context.ports
  const fitted = withinContext(model, changeBlocks(change, found.lines), changeMessages)
  if (tooDear(job, fitted.messages))
    return { ...report, problem: 'The cost limit leaves no room for a description of the change.' }
  const reply = await complete(context, {
    purpose: 'change',
    messages: fitted.messages,
    answerTokens: replyTokens,
    signal,
  })
  const shown = fitted.left
    ? fitted.left.flatMap(({ excerpt }) => excerpt ?? [])
    : found.lines.map((piece) => excerptOf(piece))
  const { markdown, questions } = parseChangeReply(reply.text)
  const pathIndex = createPathIndex({ paths: table?.files.map(({ path }) => path) ?? [] })
  const statements = parseStatements(markdown, { shown, pathIndex, counts: noCounts(), mayIntroduce: false })
  const cost = costOf(reply.usage, model.name, context.prices)
  const empty =
    statements.length === 0
      ? { problem: reply.problem?.message ?? 'The model cited no line for what it said, so nothing of it is shown.' }
      : {}
  return {
    ...report,
    statements: statements.slice(0, mostStatements).map(({ opens: _, ...statement }) => statement),
    questions,
    ...empty,
    unseen: unseenFiles(change, new Set(shown.map(({ path }) => path))),
    usage: reply.usage,
    ...(cost === undefined ? {} : { cost }),
  }
}

/** `max-cost` holds for the summary and this together. */
function tooDear({ context, spent }: ChangeJob, messages: Parameters<typeof estimateMessages>[0]): boolean {
  const { maxCost } = context.limits
  if (maxCost === undefined) return false
  const { model } = context.ports
  const usage: Usage = {
    inputTokens: estimateMessages(messages, model),
    outputTokens: replyTokens + model.expectedThinking,
  }
  return (spent?.amount ?? 0) + (costOf(usage, model.name, context.prices)?.amount ?? 0) > maxCost
}

function unseenFiles({ files, filesLeftOut }: Change, seen: ReadonlySet<string>): number {
  return filesLeftOut + files.filter(({ path, added, removed }) => added + removed > 0 && !seen.has(path)).length
}

/** A sandbox says this: only paths of the commit stay, and only what was asked for. */
function checkedChange({ found, head, table }: ChangeJob): Change | undefined {
  const { described } = found
  if (described === undefined || described.head !== head || described.base !== found.base) return undefined
  const paths = new Set(table?.files.map(({ path }) => path))
  const exists = (path: string) => paths.has(path)
  return {
    ...described,
    files: described.files.filter(({ path, status }) => status === 'removed' || exists(path)),
    ripples: described.ripples.filter(({ path, of, line }) => exists(path) && exists(of) && line > 0),
  }
}

/** The change is paid for with the summary, so the record has the sum. */
export function withChange(artifacts: SummaryArtifacts, change: ChangeReport | undefined): SummaryArtifacts {
  if (change === undefined) return artifacts
  const { record } = artifacts
  const cost = record.cost && change.cost && { ...record.cost, amount: record.cost.amount + change.cost.amount }
  const sum = cost ?? record.cost ?? change.cost
  return {
    ...artifacts,
    record: { ...record, usage: addUsage(record.usage, change.usage), ...(sum === undefined ? {} : { cost: sum }) },
  }
}

/** A report that is too long loses the end of its list of files. */
export function changeFile(report: ChangeReport): RunFile {
  const path = artifact.change(report.base)
  const bytes = encodeChangeReport(report)
  if (bytes.length <= changeReportBytes || !report.change) return { path, bytes }
  const { change } = report
  const kept = change.files.slice(0, Math.floor(change.files.length / 2))
  const filesLeftOut = change.filesLeftOut + change.files.length - kept.length
  return changeFile({ ...report, change: { ...change, files: kept, filesLeftOut } })
}

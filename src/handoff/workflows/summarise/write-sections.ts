// Has the model write the four sections of a new summary.

import { parseStatements } from '../../domain/summary/parse-statements.js'
import { type SplitReply, splitSections } from '../../domain/summary/split-sections.js'
import { type DirectoryNote, type ShownFile, summaryMessages } from '../../domain/summary/summary-prompt.js'
import { type DirectoryWords, headings, type Section } from '../../domain/summary/summary-record.js'
import { type Fitted, fitRequest } from './fit-request.js'
import type { SummaryContext } from './types.js'

interface WrittenSections {
  sections: Section[]
  words: DirectoryWords[]
}

interface SectionData {
  notes: readonly DirectoryNote[]
  files: readonly ShownFile[]
}

/** Undefined if the budget had no room or the model wrote nothing. */
export async function writeSections(context: SummaryContext, data: SectionData): Promise<WrittenSections | undefined> {
  const first = await askWithin(context, data)
  if (!first) return undefined
  if (isComplete(first)) return readSections(context, first)
  // Once more with less data, so that the reply is shorter.
  const second = await askWithin(context, data, 0.6)
  return readSections(context, second && missing(second) <= missing(first) ? second : first)
}

interface Reply {
  fitted: Fitted
  split: SplitReply
  cut: boolean
}

const missing = ({ split }: Reply) => split.sections.filter((text) => text === '').length
const isComplete = (reply: Reply) => !reply.cut && missing(reply) === 0

/** The newest are shown. */
const mostCorrections = 20

/** Shows less of the data if the request or the budget has no room for all of it, and emits a notice. */
async function askWithin(context: SummaryContext, data: SectionData, most = 1): Promise<Reply | undefined> {
  const { asker, sizes, facts, corrections = [] } = context
  const tree = facts.tree
  for (const share of [1, 0.5, 0.2, 0.05]) {
    const build = (shown: { notes: DirectoryNote[]; files: ShownFile[] }) =>
      summaryMessages({ tree, corrections: corrections.slice(-mostCorrections), ...shown })
    const fitted = fitRequest(context, sizes.summary.input, data, build, share * most)
    if (!fitted) return undefined
    const { messages } = fitted
    const reply = await asker.ask({ purpose: 'summary', messages, answerTokens: sizes.summary.output })
    if (!reply) continue
    if (fitted.share < most)
      context.notice(
        `The last request had room for about ${Math.ceil(fitted.share * 100)} % of each thing that it should show.`,
      )
    return { fitted, split: splitSections(reply.text), cut: reply.cut === true }
  }
  return undefined
}

function readSections({ facts, counts }: SummaryContext, { fitted, split }: Reply): WrittenSections {
  const { shown } = fitted
  const options = { shown, pathIndex: facts.pathIndex, counts, mayIntroduce: true }
  const sections = split.sections.map((markdown, index) => ({
    heading: headings[index]!,
    statements: parseStatements(markdown, options),
  }))
  return { sections, words: split.words }
}

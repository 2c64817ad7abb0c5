// The shape of a question: what kind of text it is, by its layout only. The shape chooses the weights of the ranking.

export const shapes = ['question', 'report', 'trace', 'name', 'diff'] as const
export type Shape = (typeof shapes)[number]

/** Lines that only tools write: frames of a stack, and heads of a diff. */
function isFrame(line: string): boolean {
  const text = line.trim()
  if (text.startsWith('at ')) return /:\d{1,7}\)?$/.test(text.slice(-20))
  if (text.startsWith("thread '")) return text.includes("' panicked")
  if (text.startsWith('File "')) return text.includes('", line ')
  return ['Traceback (most recent call last)', 'Caused by: ', 'goroutine '].some((head) => text.startsWith(head))
}
const diffHead = /^(?:diff --git |@@ -\d+(?:,\d+)? \+\d+)/m

const asks = /[?？؟]$/
const asking =
  /^(?:how|what|why|where|which|who|when|does|do|is|are|can|could|should|explain|describe|show|list|tell|find|give|compare)\b/i
/** A longer text is a report, even if it ends in a question. */
const longestQuestion = 600

export function shapeOf(text: string): Shape {
  const plain = text.trim()
  if (diffHead.test(plain)) return 'diff'
  if (plain.split('\n').some(isFrame)) return 'trace'
  const words = plain.split(/\s+/)
  if (words.length <= 2 && !asks.test(plain)) return 'name'
  const short = plain.length <= longestQuestion && !plain.includes('\n\n')
  return short && (asks.test(plain) || asking.test(plain)) ? 'question' : 'report'
}

// The shape of a question: what kind of text it is, by its layout only. The shape chooses the weights of the ranking.

export const shapes = ['question', 'report', 'trace', 'name', 'diff'] as const
export type Shape = (typeof shapes)[number]

/** Lines that only tools write: frames of a stack, and heads of a diff. */
const frame =
  /^[ \t]{0,40}(?:Traceback \(most recent call last\)|File "[^"\n]{1,300}", line \d|at \S[^\n]{0,200}:\d+\)?$|goroutine \d+ \[|thread '[^'\n]{1,100}' panicked|Caused by: )/m
const diffHead = /^(?:diff --git |@@ -\d+(?:,\d+)? \+\d+)/m

const asks = /[?？؟]\s*$/
const asking =
  /^\W*(?:how|what|why|where|which|who|when|does|do|is|are|can|could|should|explain|describe|show|list|tell|find|give|compare)\b/i
/** A longer text is a report, even if it ends in a question. */
const longestQuestion = 600

export function shapeOf(text: string): Shape {
  const plain = text.trim()
  if (diffHead.test(plain)) return 'diff'
  if (frame.test(plain)) return 'trace'
  const words = plain.split(/\s+/)
  if (words.length <= 2 && !asks.test(plain)) return 'name'
  const short = plain.length <= longestQuestion && !plain.includes('\n\n')
  return short && (asks.test(plain) || asking.test(plain)) ? 'question' : 'report'
}

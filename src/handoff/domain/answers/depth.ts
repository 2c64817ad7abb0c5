// How deep a question is looked into: what one answer may take at most.

export const depths = ['quick', 'normal', 'deep'] as const
export type Depth = (typeof depths)[number]

interface DepthLimits {
  /** Requests for an answer; each one after the first shows more of the repository. */
  rounds: number
  /** Tokens of numbered lines that all rounds show. */
  tokens: number
  /** A round that begins later is the last. */
  seconds: number
}

export const depthLimits: Readonly<Record<Depth, DepthLimits>> = {
  quick: { rounds: 1, tokens: 12_000, seconds: 60 },
  normal: { rounds: 3, tokens: 36_000, seconds: 180 },
  deep: { rounds: 8, tokens: 60_000, seconds: 600 },
}

/** Tokens of numbered lines that one round adds. */
export const roundTokens = 12_000

export const depthNamed = (text: string): Depth | undefined => depths.find((one) => one === text)

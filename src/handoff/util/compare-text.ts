/** Compares ids and ISO times by code units. `localeCompare` gives the same order for these and takes milliseconds to load. */
export function compareText(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

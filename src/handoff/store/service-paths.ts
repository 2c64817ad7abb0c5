// Where the service keeps what all its instances share: beside the repositories, in a directory that no git host can be called.

export interface ServicePlace {
  turns: string
  budget: (callerHash: string) => string
  keys: string
  key: (keyHash: string) => string
  accepted: string
  acceptedQuestion: (name: string) => string
  deliveries: string
  delivery: (name: string) => string
}

export function servicePlace(root: string): ServicePlace {
  const top = `${root.replace(/\/+$/, '')}/_service`
  return {
    turns: `${top}/turns.json`,
    budget: (callerHash) => `${top}/budgets/${callerHash}.json`,
    keys: `${top}/keys`,
    key: (keyHash) => `${top}/keys/${keyHash}.json`,
    accepted: `${top}/accepted`,
    acceptedQuestion: (name) => `${top}/accepted/${name}.json`,
    deliveries: `${top}/deliveries`,
    delivery: (name) => `${top}/deliveries/${name}.json`,
  }
}

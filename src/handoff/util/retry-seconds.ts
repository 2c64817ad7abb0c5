// After how many seconds it makes sense to try again, where the failing service did not say. A code that is not here fails again in the same way.
export const retrySeconds: Readonly<Record<string, number>> = {
  timeout: 1,
  cancelled: 1,
  'in-progress': 10,
  'sandbox-limit': 5,
  'model-limit': 20,
  sandbox: 10,
  drive: 10,
  git: 20,
}

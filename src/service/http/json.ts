// JSON responses.
export function jsonResponse(status: number, value: unknown, headers: Record<string, string> = {}): Response {
  return new Response(`${JSON.stringify(value)}\n`, {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  })
}

export interface Ready {
  readonly api?: string
  readonly health: string
}

/** What a service logs once it is ready: its addresses. */
export function readyLine(stdout: string): Ready | undefined {
  return logLines(stdout, 'ready')[0] as Ready | undefined
}

/** The whole log lines with this message. */
export function logLines(stdout: string, msg: string): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line.endsWith('}') && line.includes(`"msg":"${msg}"`))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

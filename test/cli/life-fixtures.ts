export interface Ready {
  readonly api?: string
  readonly health: string
}

/** The addresses that a service logs when it is ready. */
export function readyLine(stdout: string): Ready | undefined {
  return logLines(stdout, 'ready')[0] as Ready | undefined
}

/** The complete log lines with this message. */
export function logLines(stdout: string, msg: string): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line.endsWith('}') && line.includes(`"msg":"${msg}"`))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

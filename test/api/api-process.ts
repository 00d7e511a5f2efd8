import { addressesOf, type RunningCommand, startInTest } from '../support/child-process.ts'

export interface ApiProcess {
  readonly api: RunningCommand
  readonly url: URL
}

/** Starts the API in its own process and waits until it is ready. The process is killed when the test ends. */
export async function startApiProcess(
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ApiProcess> {
  const api = startInTest(['api'], {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
    API_PORT: '0',
    ADMIN_PORT: '0',
    ...env,
  })
  return { api, url: new URL((await addressesOf(api)).api) }
}

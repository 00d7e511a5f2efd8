import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { ProblemError } from './problems.ts'

/** What Node refuses by itself, in plain text, or does not refuse: here it is a problem, as everything else. */
export function addHttpRules(server: FastifyInstance): void {
  const { server: node } = server
  // With no listener Node answers; the hook below does then.
  node.on('checkExpectation', (...asked) => node.emit('request', ...asked))
  server.addHook('onRequest', async ({ raw }) => {
    assertHost(raw)
    assertExpectation(raw)
  })
}

/** Two hosts are two addresses, of which a proxy may have judged the other one. HTTP/1.0 knew none. */
function assertHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host').length
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return
  throw new ProblemError('request.invalid', {
    parameter: 'Host',
    detail: 'the header Host is needed, once',
  })
}

/** As Node knows what it can meet. HTTP/1.0 had no expectations. */
function assertExpectation({ headers: { expect }, httpVersion }: IncomingMessage): void {
  if (expect === undefined || httpVersion === '1.0' || /(?:^|\W)100-continue(?:$|\W)/i.test(expect))
    return
  throw new ProblemError('request.unmet_expectation', {
    parameter: 'Expect',
    detail: 'nothing but 100-continue may be expected',
  })
}

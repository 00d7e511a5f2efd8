import type { FastifyInstance, FastifyReply } from 'fastify'
import { sendProblem } from '../../src/platform/http/problems.ts'
import type { ActiveFault, FaultLayer } from '../faults/fault-layer.ts'
import {
  type CheckedRule,
  FAULT_NAMES,
  isFaultName,
  readRules,
  SandboxFaultError,
} from '../faults/fault-rule.ts'

/** Shows and changes the fault rules while the sandbox runs. Every answer lists the rules then in force. */
export function faultOperations(server: FastifyInstance, faults: FaultLayer): void {
  const path = '/sandbox/faults'
  const active = () => ({ faults: faults.active().map(viewFault) })
  const apply = (reply: FastifyReply, given: unknown, change: (rules: CheckedRule[]) => void) => {
    try {
      change(readRules(given))
    } catch (err) {
      if (!(err instanceof SandboxFaultError)) throw err
      return sendProblem(reply, { status: 400, code: err.code, title: err.message })
    }
    return active()
  }

  server.get(path, active)
  server.put(path, (request, reply) => apply(reply, request.body, faults.set))
  server.post(path, (request, reply) => apply(reply, [request.body], faults.add))
  server.delete(path, () => {
    faults.set([])
    return active()
  })
  server.delete(`${path}/:name`, (request, reply) => {
    const { name } = request.params as { readonly name: string }
    if (faults.remove(name) > 0) return active()
    const title = isFaultName(name)
      ? `no rule of the fault ${name} is in force`
      : `no fault has this name; the names are ${FAULT_NAMES.join(', ')}`
    return sendProblem(reply, { status: 404, code: 'not_found', title })
  })
}

/** The rule as it is set, with its counts. */
function viewFault({ rule, endsAt, requests, triggered }: ActiveFault): object {
  const { name, endpoint, probability, durationSeconds, parameters } = rule
  const duration = durationSeconds === undefined ? {} : { durationSeconds }
  return { name, endpoint, probability, ...duration, ...parameters, endsAt, requests, triggered }
}

-- Makes writes as one, or none: conditions first, then records of the audit trail, then commands.
-- arg.conditions  for each the wanted reply, '' for none, and a command that changes nothing
-- arg.records     records of the audit trail: isDenial, atMs, steadyMs, text
-- arg.commands    with their whole keys; a full store refuses the first one, or none
-- returns         the replies of the commands; or 0 if a condition does not hold, with nothing written
--- include history
--- include audit
--- include commands
for _, condition in ipairs(arg.conditions) do
  if not holds(condition) then return 0 end
end
local failure = wrongType(arg.commands)
if failure then return failure end
record(arg.records)
local replies = {}
for number, command in ipairs(arg.commands) do replies[number] = redis.call(unpack(command)) end
return replies

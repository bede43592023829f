-- Reads only.
-- Reads the accounts of destinations.
-- KEYS[1] a key in the slot of all
-- ARGV[1] to ARGV[3] prefixes: of destinations, of queues, of streams
-- ARGV[4] how many fields of an account follow; then the fields, then the destinations
-- returns for each destination the values of the fields, '' for none, and the lengths of its queue and stream;
--         {} if it is gone or a field is not a count; -1 for a queue or stream of another type
--- include destinations
local hashes, queues, streams, fieldCount = unpack(ARGV, 1, 4)
local fields = {}
for at = 1, fieldCount do fields[at] = ARGV[4 + at] end
local accounts = {}
for at = 5 + fieldCount, #ARGV do
  local name = ARGV[at]
  local account = {}
  if hasAccount(hashes .. name, unpack(fields)) then
    for field, value in ipairs(redis.call('HMGET', hashes .. name, unpack(fields))) do account[field] = value or '' end
    account[#account + 1] = tostring(lengthOf('LLEN', queues .. name) or -1)
    account[#account + 1] = tostring(lengthOf('XLEN', streams .. name) or -1)
  end
  accounts[#accounts + 1] = account
end
return accounts

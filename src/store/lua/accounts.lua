-- Reads only.
-- Reads the accounts of destinations.
-- arg.names   arg.fields  the fields of an account
-- returns for each destination the values of the fields, '' for none, and the length of its queue; {} if it is gone or one
--         of its keys was overwritten
--- include destinations
local accounts = {}
for at, name in ipairs(arg.names) do
  local account = {}
  local length = hasAccount(name, unpack(arg.fields)) and lengthOf(name)
  if length then
    for field, value in ipairs(redis.call('HMGET', key('session:' .. name), unpack(arg.fields))) do
      account[field] = value or ''
    end
    account[#account + 1] = tostring(length)
  end
  accounts[at] = account
end
return accounts

// World plugin for Gazebo classic 11: one TCP client on the loopback interface steps the world in lockstep.
//
// Before each step the world waits for the client. A request is two uint32 (kind, count) and `count` doubles, all in
// the machine's byte order; each is answered by one uint32 (count) and that many doubles.
//
//   STEP   forces of the joints, N m (N)                            step of the world, then the state
//   RESET  q and v of the joints, then per body position, quaternion wxyz, angular and linear velocity: the state
//   READ   nothing                                                  the state
//
// State: number of steps; q, v of the joints; per body position (m), quaternion wxyz, angular (rad/s) and linear
// velocity (m/s) of its frame, in the world; then per contact of the last step: point (m), force on the object (N), depth (m).
//
// Elements of the plugin, in this order of the numbers above:
//   <port>      TCP port
//   <joint>     model::joint, from root to tip
//   <body>      model::link of a free body
//   <object>    name of a model whose contacts are reported; the force acts on the one named first
//
// When the client hangs up, the server ends.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gazebo/common/Events.hh>
#include <gazebo/common/Plugin.hh>
#include <gazebo/physics/Collision.hh>
#include <gazebo/physics/Contact.hh>
#include <gazebo/physics/ContactManager.hh>
#include <gazebo/physics/Inertial.hh>
#include <gazebo/physics/Joint.hh>
#include <gazebo/physics/Link.hh>
#include <gazebo/physics/Model.hh>
#include <gazebo/physics/PhysicsEngine.hh>
#include <gazebo/physics/World.hh>

namespace contact_mpc
{
using gazebo::physics::ContactPtr;
using gazebo::physics::JointPtr;
using gazebo::physics::LinkPtr;
using ignition::math::Quaterniond;
using ignition::math::Vector3d;

enum Kind : uint32_t { STEP = 1, RESET = 2, READ = 3 };
constexpr size_t BODY_SIZE = 13;

/// The client hung up.
struct Closed : std::runtime_error
{
  Closed() : std::runtime_error("the client hung up") {}
};

/// A listening socket on the loopback interface and its one client.
class Connection
{
public:
  explicit Connection(int port)
  {
    const int one = 1;
    this->listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(this->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(this->listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0 || listen(this->listener, 1) != 0)
      throw std::runtime_error("cannot listen on port " + std::to_string(port) + ": " + std::strerror(errno));
  }

  ~Connection()
  {
    if (this->client >= 0)
      close(this->client);
    close(this->listener);
  }

  Connection(const Connection &) = delete;
  Connection &operator=(const Connection &) = delete;

  /// Wait for the next request; returns its kind and its numbers.
  Kind Receive(std::vector<double> &numbers)
  {
    if (this->client < 0)
    {
      const int one = 1;
      this->client = accept(this->listener, nullptr, nullptr);
      if (this->client < 0)
        throw Closed();
      setsockopt(this->client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    }
    uint32_t header[2];
    this->Read(header, sizeof(header));
    numbers.resize(header[1]);
    this->Read(numbers.data(), numbers.size() * sizeof(double));
    return static_cast<Kind>(header[0]);
  }

  void Send(const std::vector<double> &numbers)
  {
    const uint32_t count = static_cast<uint32_t>(numbers.size());
    this->buffer.resize(sizeof(count) + count * sizeof(double));
    std::memcpy(this->buffer.data(), &count, sizeof(count));
    std::memcpy(this->buffer.data() + sizeof(count), numbers.data(), count * sizeof(double));
    size_t sent = 0;
    while (sent < this->buffer.size())
    {
      const ssize_t n = send(this->client, this->buffer.data() + sent, this->buffer.size() - sent, MSG_NOSIGNAL);
      if (n <= 0)
        throw Closed();
      sent += static_cast<size_t>(n);
    }
  }

private:
  void Read(void *target, size_t size)
  {
    auto *bytes = static_cast<char *>(target);
    while (size > 0)
    {
      const ssize_t n = recv(this->client, bytes, size, 0);
      if (n <= 0)
        throw Closed();
      bytes += n;
      size -= static_cast<size_t>(n);
    }
  }

  int listener = -1;
  int client = -1;
  std::vector<char> buffer;
};

/// Blocks the world before each step until the client has said what to do.
class LockstepPlugin : public gazebo::WorldPlugin
{
public:
  void Load(gazebo::physics::WorldPtr _world, sdf::ElementPtr _sdf) override
  {
    this->world = _world;
    this->connection = std::make_unique<Connection>(_sdf->Get<int>("port"));
    this->names = _sdf;
    this->world->Physics()->GetContactManager()->SetNeverDropContacts(true);
    this->begin = gazebo::event::Events::ConnectWorldUpdateBegin([this](const gazebo::common::UpdateInfo &) { this->Begin(); });
    this->end = gazebo::event::Events::ConnectWorldUpdateEnd([this]() { this->End(); });
  }

private:
  /// Models exist once the world runs: find the parts by their names then.
  void FindParts()
  {
    for (const std::string &name : this->Names("joint"))
      this->joints.push_back(this->Model(name)->GetJoint(Child(name)));
    for (const std::string &name : this->Names("body"))
      this->bodies.push_back(this->Model(name)->GetLink(Child(name)));
    for (const std::string &name : this->Names("object"))
      this->ranks.emplace(name, this->ranks.size());
    for (size_t i = 0; i < this->joints.size(); ++i)
      if (!this->joints[i])
        throw std::runtime_error("no joint " + this->Names("joint")[i]);
    for (size_t i = 0; i < this->bodies.size(); ++i)
      if (!this->bodies[i])
        throw std::runtime_error("no link " + this->Names("body")[i]);
  }

  void Begin()
  {
    if (this->isEnding)
      return;
    try
    {
      if (!this->isReady)
        this->FindParts();
      this->isReady = true;
      while (this->connection)
      {
        const Kind kind = this->connection->Receive(this->numbers);
        if (kind == STEP)
        {
          this->Expect(this->joints.size());
          for (size_t i = 0; i < this->joints.size(); ++i)
            this->joints[i]->SetForce(0, this->numbers[i]);
          return;
        }
        if (kind == RESET)
          this->Reset();
        else
          this->Expect(0);
        this->connection->Send(this->State());
      }
    }
    catch (const std::exception &error)
    {
      this->Finish(error.what());
    }
  }

  void End()
  {
    if (this->isEnding)
      return;
    ++this->steps;
    try
    {
      this->connection->Send(this->State());
    }
    catch (const std::exception &error)
    {
      this->Finish(error.what());
    }
  }

  /// Put joints, from root to tip, and free bodies where the client says, at rest or moving.
  void Reset()
  {
    const size_t n = this->joints.size();
    this->Expect(2 * n + BODY_SIZE * this->bodies.size());
    const double *number = this->numbers.data();
    this->steps = 0;
    this->world->ResetTime();
    this->world->ResetPhysicsStates();
    for (size_t i = 0; i < n; ++i)
      this->joints[i]->SetPosition(0, number[i]);
    for (size_t i = 0; i < n; ++i)
      this->joints[i]->SetVelocity(0, number[n + i]);
    number += 2 * n;
    for (const LinkPtr &body : this->bodies)
    {
      const Vector3d p(number[0], number[1], number[2]), w(number[7], number[8], number[9]);
      const Quaterniond q(number[3], number[4], number[5], number[6]);
      const Vector3d v(number[10], number[11], number[12]);
      body->SetWorldPose(ignition::math::Pose3d(p, q));
      const Vector3d toCentre = q.RotateVector(body->GetInertial()->CoG());
      body->SetAngularVel(w);
      body->SetLinearVel(v + w.Cross(toCentre));
      number += BODY_SIZE;
    }
    this->world->Physics()->GetContactManager()->Clear();
  }

  const std::vector<double> &State()
  {
    this->state.clear();
    this->state.push_back(static_cast<double>(this->steps));
    for (const JointPtr &joint : this->joints)
      this->state.push_back(joint->Position(0));
    for (const JointPtr &joint : this->joints)
      this->state.push_back(joint->GetVelocity(0));
    for (const LinkPtr &body : this->bodies)
    {
      const auto pose = body->WorldPose();
      const auto w = body->WorldAngularVel(), v = body->WorldLinearVel();
      for (const double value : {pose.Pos().X(), pose.Pos().Y(), pose.Pos().Z(), pose.Rot().W(), pose.Rot().X(),
                                 pose.Rot().Y(), pose.Rot().Z(), w.X(), w.Y(), w.Z(), v.X(), v.Y(), v.Z()})
        this->state.push_back(value);
    }
    if (this->steps > 0)
      this->AppendContacts();
    return this->state;
  }

  /// Gazebo gives the force on the first body in the frame of its link.
  void AppendContacts()
  {
    auto *manager = this->world->Physics()->GetContactManager();
    for (unsigned int i = 0; i < manager->GetContactCount(); ++i)
    {
      const auto *contact = manager->GetContact(i);
      const size_t first = this->Rank(contact->collision1), second = this->Rank(contact->collision2);
      const Quaterniond R = contact->collision1->GetLink()->WorldPose().Rot();
      for (int k = 0; k < contact->count; ++k)
      {
        const Vector3d force = R.RotateVector(contact->wrench[k].body1Force) * (first <= second ? 1.0 : -1.0);
        const Vector3d &point = contact->positions[k];
        for (const double value : {point.X(), point.Y(), point.Z(), force.X(), force.Y(), force.Z(), contact->depths[k]})
          this->state.push_back(value);
      }
    }
  }

  size_t Rank(const gazebo::physics::Collision *collision) const
  {
    const auto found = this->ranks.find(collision->GetModel()->GetName());
    return found == this->ranks.end() ? this->ranks.size() : found->second;
  }

  void Expect(size_t count) const
  {
    if (this->numbers.size() != count)
      throw std::runtime_error("got " + std::to_string(this->numbers.size()) + " numbers, expected " + std::to_string(count));
  }

  void Finish(const std::string &reason)
  {
    this->isEnding = true;
    this->connection.reset();
    std::cerr << "contact_mpc: end: " << reason << std::endl;
    gazebo::event::Events::sigInt();
  }

  std::vector<std::string> Names(const std::string &tag) const
  {
    std::vector<std::string> found;
    if (!this->names->HasElement(tag))
      return found;
    for (auto element = this->names->GetElement(tag); element; element = element->GetNextElement(tag))
      found.push_back(element->Get<std::string>());
    return found;
  }

  gazebo::physics::ModelPtr Model(const std::string &name) const
  {
    const auto model = this->world->ModelByName(name.substr(0, name.find("::")));
    if (!model)
      throw std::runtime_error("no model of " + name);
    return model;
  }

  static std::string Child(const std::string &name) { return name.substr(name.find("::") + 2); }

  gazebo::physics::WorldPtr world;
  sdf::ElementPtr names;
  std::unique_ptr<Connection> connection;
  gazebo::event::ConnectionPtr begin, end;
  std::vector<JointPtr> joints;
  std::vector<LinkPtr> bodies;
  std::map<std::string, size_t> ranks;
  std::vector<double> numbers, state;
  uint64_t steps = 0;
  bool isReady = false, isEnding = false;
};

GZ_REGISTER_WORLD_PLUGIN(LockstepPlugin)
}  // namespace contact_mpc
